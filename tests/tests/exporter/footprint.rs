//! What a scrape touches: nothing that wakes other CPUs, nothing twice, nothing written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tests::fixture::{self, Fixture};
use tests::http;
use tests::program::{Program, binary};

use crate::series::Host;

const CPU: &str = "sys/devices/system/cpu";

/// Files that interrupt a CPU, sleep or ask firmware (classes C, E and X), and those of class D that are neither energy
/// nor a limit.
fn must_not_be_read(machine: &Fixture) -> Vec<String> {
    let mut files = Vec::new();
    for cpu in 0..8 {
        let policy = format!("{CPU}/cpufreq/policy{cpu}");
        files.extend(
            [
                "energy_performance_preference",
                "base_frequency",
                "cpuinfo_cur_freq",
                "scaling_setspeed",
            ]
            .map(|f| format!("{policy}/{f}")),
        );
        files.extend(
            ["auto_select", "energy_performance_preference_val"].map(|f| format!("{policy}/{f}")),
        );
        files.push(format!("{CPU}/cpu{cpu}/power/energy_perf_bias"));
        let cppc = [
            "highest_perf",
            "nominal_perf",
            "lowest_perf",
            "reference_perf",
            "lowest_freq",
            "nominal_freq",
            "feedback_ctrs",
            "wraparound_time",
        ];
        files.extend(cppc.map(|f| format!("{CPU}/cpu{cpu}/acpi_cppc/{f}")));
        files.push(format!("{CPU}/cpu{cpu}/topology/ppin"));
    }
    let zones = of_zones(
        machine,
        &["constraint_0_max_power_uw", "constraint_1_max_power_uw"],
    );
    files.extend(zones);
    files.extend(
        [
            "proc/cpuinfo",
            "proc/interrupts",
            "sys/kernel/debug/sched/debug",
        ]
        .map(str::to_owned),
    );
    files.extend(["temp", "type"].map(|f| format!("sys/class/thermal/thermal_zone0/{f}")));
    files.extend(
        ["temp1_input", "power1_average", "name"].map(|f| format!("sys/class/hwmon/hwmon0/{f}")),
    );
    files.push("sys/firmware/acpi/platform_profile".to_owned());
    files.push(format!(
        "{CPU}/intel_uncore_frequency/package_00_die_00/current_freq_khz"
    ));
    files.push(format!(
        "{CPU}/intel_uncore_frequency/package_00_die_00/max_freq_khz"
    ));
    files
}

/// Power limits: a wake-up a file, which is paid once when the zone is found.
fn read_once(machine: &Fixture) -> Vec<String> {
    let limits = ["power_limit_uw", "time_window_us"].map(|f| format!("constraint_0_{f}"));
    let files = limits.iter().map(String::as_str).chain(["enabled"]);
    of_zones(machine, &files.collect::<Vec<_>>())
}

fn of_zones(machine: &Fixture, files: &[&str]) -> Vec<String> {
    let zones = fs::read_dir(machine.path("sys/class/powercap")).unwrap();
    let zones = zones.map(|zone| zone.unwrap().file_name().into_string().unwrap());
    let of_zone = |zone: String| {
        let files = files.iter();
        files.map(move |file| format!("sys/class/powercap/{zone}/{file}"))
    };
    zones.flat_map(of_zone).collect()
}

/// A FIFO in the place of each hangs whoever opens it.
#[test]
fn a_default_scrape_reads_nothing_that_wakes_another_cpu() {
    let change = |machine: &Fixture| {
        for file in must_not_be_read(machine) {
            machine.make_fifo(&file);
        }
    };
    let host = Host::with_deadline("intel-2s-icelake", Duration::from_secs(2), change);
    host.scrape();
    for file in read_once(&host.machine) {
        host.machine.make_fifo(&file);
    }
    // A zone that cannot be read has all of them looked for again in each scrape.
    let zone = "sys/class/powercap/intel-rapl:2";
    host.machine.write(&format!("{zone}/energy_uj"), "1\n");
    host.machine
        .write(&format!("{zone}/name/is-a-directory"), "");
    for _ in 0..3 {
        host.scrape();
        let reason = host.reason("rapl");
        assert!(reason.contains("intel-rapl:2/name"), "{reason}");
    }
    host.machine.remove(zone);
    for _ in 0..3 {
        host.scrape();
        assert_eq!(host.unwell(), [""; 0]);
    }
}

/// System calls of a real process between two requests, by strace.
struct Trace {
    /// All of it.
    text: String,
    /// The last scrape, from its request to the next.
    scrape: Vec<String>,
}

fn trace(machine: &Fixture) -> Trace {
    let out = machine.path("trace");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-I", "waiting", "-y", "-s", "64", "-o"])
        .arg(&out)
        .arg(binary("wakelag-exporter"))
        .args(arguments(machine));
    let mut program = Program::spawn("strace, from Debian's package of that name", command);
    let address = program.address();
    for _ in 0..4 {
        http::get(&format!("{address}/metrics")).unwrap();
    }
    http::get(&format!("{address}/-/healthy")).unwrap();
    // Killed, strace would leave the exporter running; and it would not listen without being told to.
    program.terminate();
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let requests: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].contains("\"GET /"))
        .collect();
    let [.., from, to] = requests[..] else {
        panic!("{} requests", requests.len())
    };
    let scrape = lines[from..to]
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
    Trace { text, scrape }
}

fn arguments(machine: &Fixture) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    vec![
        format!("--path.procfs={}", path(&machine.procfs())),
        format!("--path.sysfs={}", path(&machine.sysfs())),
        format!("--path.devfs={}", path(&machine.devfs())),
        "--web.listen-address=127.0.0.1:0".to_owned(),
        // Under strace a scrape may take long enough for a check in the middle of what is looked at.
        "--profile.check-interval=0".to_owned(),
    ]
}

#[test]
fn steady_state_reads_each_file_once_and_opens_none_anew() {
    let machine = fixture::unpack("kernel-6.14");
    // One policy for all CPUs, without a file that some hosts lack.
    for policy in 1..8 {
        machine.remove(&format!("{CPU}/cpufreq/policy{policy}"));
    }
    machine.write(
        &format!("{CPU}/cpufreq/policy0/affected_cpus"),
        "0 1 2 3 4 5 6 7\n",
    );
    machine.remove(&format!("{CPU}/offline"));
    let trace = trace(&machine);
    let root = machine.root().to_string_lossy().into_owned();
    let mut reads = BTreeMap::<String, u32>::new();
    for line in &trace.scrape {
        let opens = line.contains("open(") || line.contains("openat(");
        if opens && line.contains(&root) {
            let optional = [
                "intel_pstate/no_turbo",
                "intel_pstate/status",
                "cpufreq/boost",
                "class/powercap\"",
                "dev/cpu_dma_latency",
            ]
            .iter()
            .any(|f| line.contains(f));
            assert!(optional, "opened in steady state: {line}");
        }
        if let Some((_, path)) = line
            .split_once("pread64(")
            .and_then(|(_, rest)| rest.split_once('<'))
            && let Some(path) = path
                .split('>')
                .next()
                .and_then(|path| path.strip_prefix(&root))
        {
            *reads.entry(path.to_owned()).or_default() += 1;
        }
    }
    for (path, count) in &reads {
        // procfs in pieces until one is empty; who is online is asked by five collectors, drivers by two.
        let shared = path.ends_with("cpu/online") || path.contains("cpuidle/current_");
        let most = if shared { 5 } else { 1 };
        assert!(
            *count <= most || path.starts_with("/proc/"),
            "{path} read {count} times"
        );
    }
    let files = |part: &str| reads.keys().filter(|path| path.contains(part)).count();
    assert_eq!(files("scaling_cur_freq"), 1);
    assert_eq!(files("cpuidle/state"), 8 * 3 * 6, "{reads:?}");
    assert_eq!(files("/name") + files("/latency") + files("/residency"), 0);
    assert_eq!(files("cpuinfo_min_freq") + files("max_energy_range_uj"), 0);
}

/// An open cpu_dma_latency is a request to the kernel as long as it lives.
#[test]
fn the_latency_device_is_opened_to_read_and_closed_at_once() {
    let machine = fixture::unpack("intel-2s-icelake");
    let device = machine.path("dev/cpu_dma_latency");
    fs::write(&device, 2_000_000_000_i32.to_ne_bytes()).unwrap();
    let trace = trace(&machine);
    let name = device.to_string_lossy().into_owned();
    let calls: Vec<&str> = trace
        .scrape
        .iter()
        .filter(|line| line.contains(&name))
        .filter_map(|line| line.split_whitespace().nth(1)?.split_once('('))
        .map(|(call, _)| call)
        // A debug build of the standard library looks before it closes.
        .filter(|call| *call != "fcntl")
        .collect();
    assert_eq!(calls, ["openat", "pread64", "close"]);
    let opened = trace
        .text
        .lines()
        .find(|line| line.contains("openat(") && line.contains(&name));
    assert!(opened.unwrap().contains("O_RDONLY|O_CLOEXEC"));
}

#[test]
fn the_exporter_writes_nowhere_moves_nowhere_and_starts_one_reader() {
    let machine = fixture::unpack("intel-2s-icelake");
    let trace = trace(&machine);
    let mut threads = 0;
    for line in trace.text.lines() {
        for call in [
            "sched_setaffinity",
            "sched_setattr",
            "setpriority",
            "perf_event_open",
            "/dev/cpu/",
        ] {
            assert!(!line.contains(call), "{line}");
        }
        let opens = line.contains("open(") || line.contains("openat(");
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
            .iter()
            .any(|flag| line.contains(flag));
        assert!(!(opens && writes), "{line}");
        threads += u32::from(line.contains("clone3(") || line.contains("clone("));
    }
    assert_eq!(threads, 1);
    let timers = trace
        .scrape
        .iter()
        .filter(|line| line.contains("timerfd_create") || line.contains("setitimer"));
    assert_eq!(timers.count(), 0);
}

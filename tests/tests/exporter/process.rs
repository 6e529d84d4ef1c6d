//! The real program: files that hang, a user without rights, what it logs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use tests::fixture::{self, Fixture};
use tests::http;
use tests::program::{Program, binary};

const TIMEOUT: Duration = Duration::from_millis(200);

fn arguments(machine: &Fixture) -> Vec<String> {
    vec![
        format!("--path.procfs={}", machine.procfs().display()),
        format!("--path.sysfs={}", machine.sysfs().display()),
        format!("--path.devfs={}", machine.devfs().display()),
        "--web.listen-address=127.0.0.1:0".to_owned(),
        format!("--collector.timeout={}", TIMEOUT.as_secs_f64()),
    ]
}

fn start(machine: &Fixture) -> (Program, String) {
    let arguments = arguments(machine);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut program = Program::start("wakelag-exporter", &arguments);
    let address = program.address();
    (program, address)
}

/// The program as a user without any right, whoever runs the test, and without arguments.
pub(crate) fn without_rights(machine: &Fixture) -> Command {
    machine.set_mode("", 0o755);
    if nix::unistd::geteuid().is_root() {
        let program = machine.path("wakelag-exporter");
        std::fs::copy(binary("wakelag-exporter"), &program).unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]);
        command.arg(program);
        command
    } else {
        Command::new(binary("wakelag-exporter"))
    }
}

/// The same, serving `machine`.
pub(crate) fn start_without_rights(machine: &Fixture, flags: &[&str]) -> Program {
    let mut command = without_rights(machine);
    command.args(arguments(machine)).args(flags);
    Program::spawn("wakelag-exporter", command)
}

pub(crate) fn scrape(address: &str) -> String {
    http::get(&format!("{address}/metrics")).unwrap()
}

fn count(program: &Program, what: &str) -> usize {
    std::fs::read_dir(format!("/proc/{}/{what}", program.pid()))
        .unwrap()
        .count()
}

pub(crate) fn state(text: &str, collector: &str) -> String {
    let on = text.lines().find_map(|line| {
        let rest = line.strip_prefix(&format!(
            "wakelag_scrape_collector_state{{collector=\"{collector}\",state=\""
        ))?;
        rest.strip_suffix("\"} 1")
    });
    on.unwrap_or_default().to_owned()
}

fn warnings(program: &Program) -> Vec<String> {
    let log = program.log();
    let lines = log
        .lines()
        .filter(|line| line.contains("level=warn") || line.contains("level=error"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_file_that_hangs_costs_its_own_collector_and_nothing_grows() {
    let machine = fixture::unpack("intel-2s-icelake");
    let (program, address) = start(&machine);
    scrape(&address);
    // Not read yet: descriptors that are open do not hang.
    drop(program);
    machine.make_fifo("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq");
    machine.make_fifo("proc/pressure/io");
    let (program, address) = start(&machine);
    let started = Instant::now();
    let first = scrape(&address);
    assert!(started.elapsed() < 2 * TIMEOUT + Duration::from_secs(2));
    for collector in ["cpufreq", "pressure"] {
        assert_eq!(state(&first, collector), "timeout");
    }
    scrape(&address);
    let (threads, descriptors) = (count(&program, "task"), count(&program, "fd"));
    for _ in 0..100 {
        let started = Instant::now();
        let text = scrape(&address);
        assert!(started.elapsed() < 2 * TIMEOUT + Duration::from_secs(2));
        for collector in ["settings", "rapl", "cpuidle", "schedstat", "stat"] {
            assert_eq!(state(&text, collector), "ok");
        }
        assert!(text.contains("\nwakelag_cpuidle_state_seconds_total{"));
        assert!(!text.contains("\nwakelag_cpu_scaling_frequency_hertz{"));
    }
    assert_eq!(count(&program, "task"), threads);
    assert_eq!(threads, 4, "main, two readers that hang, one that reads");
    let now = count(&program, "fd");
    assert!(
        now <= descriptors + 1,
        "{now} descriptors, {descriptors} before"
    );
    let warned = warnings(&program);
    assert_eq!(warned.len(), 2, "{warned:?}");
    assert!(
        warned
            .iter()
            .any(|line| line.contains("policy0/scaling_cur_freq: no answer after")),
        "{warned:?}"
    );
}

#[test]
fn a_user_without_rights_gets_everything_but_energy_and_one_line_that_says_why() {
    let machine = fixture::unpack("intel-2s-icelake");
    // A rule of udev's may have opened one zone.
    machine.set_mode("sys/class/powercap/intel-rapl:1/energy_uj", 0o444);
    let mut program = start_without_rights(&machine, &[]);
    let address = program.address();
    for _ in 0..5 {
        let text = scrape(&address);
        assert_eq!(state(&text, "rapl"), "denied");
        assert!(text.contains(
            "\nwakelag_rapl_energy_joules_total{control_type=\"intel-rapl\",zone=\"intel-rapl:1\""
        ));
        let denied =
            "\nwakelag_rapl_energy_joules_total{control_type=\"intel-rapl\",zone=\"intel-rapl:0\"";
        assert!(!text.contains(denied));
        // Limits are for everyone to read.
        assert!(text.contains(
            "\nwakelag_rapl_power_limit_watts{control_type=\"intel-rapl\",zone=\"intel-rapl:0\""
        ));
        for collector in [
            "settings",
            "cpuidle",
            "cpufreq",
            "schedstat",
            "stat",
            "pressure",
        ] {
            assert_eq!(state(&text, collector), "ok", "{collector}");
        }
    }
    let warned = warnings(&program);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0].contains("intel-rapl:0/energy_uj: Permission denied"),
        "{warned:?}"
    );
    let page = http::get(&format!("{address}/")).unwrap();
    // What to do about it is another thing in a container.
    assert!(page.contains("CVE-2020-8694"));
}

#[test]
fn a_guest_with_nothing_is_served_without_a_warning() {
    let machine = fixture::unpack("guest-empty");
    let (program, address) = start(&machine);
    for _ in 0..5 {
        let text = scrape(&address);
        for collector in ["rapl", "cpuidle", "cpufreq", "schedstat"] {
            assert_eq!(state(&text, collector), "absent", "{collector}");
        }
        for family in [
            "wakelag_build_info{",
            "wakelag_node_info{",
            "wakelag_pressure_cpu_waiting_seconds_total ",
            "wakelag_cpu_seconds_total{",
            "process_cpu_seconds_total ",
            "wakelag_profile_info{",
        ] {
            assert!(text.contains(&format!("\n{family}")), "{family}");
        }
    }
    assert_eq!(warnings(&program), [""; 0]);
}

#[test]
fn an_unknown_version_of_schedstat_is_warned_of_once() {
    let machine = fixture::unpack("guest-empty");
    machine.write(
        "proc/schedstat",
        "version 18\ntimestamp 1\ncpu0 1 0 3 4 5 6 7 8 9\ndomain0 new 1 2 3\n",
    );
    let (program, address) = start(&machine);
    for _ in 0..4 {
        assert!(scrape(&address).contains("\nwakelag_schedstat_version 18\n"));
    }
    let warned = warnings(&program);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("version=18"), "{warned:?}");
}

#[test]
fn two_scrapes_of_a_machine_without_changes_differ_in_times_only() {
    let machine = fixture::unpack("kernel-6.14");
    let (_program, address) = start(&machine);
    scrape(&address);
    let steady = |text: String| {
        let lines = text.lines().map(str::to_owned);
        let moving = [
            "process_",
            "wakelag_scrape_collector_duration",
            "wakelag_profile_seconds_total",
        ];
        lines
            .filter(|line| !moving.iter().any(|name| line.contains(name)))
            .collect::<Vec<_>>()
    };
    assert_eq!(steady(scrape(&address)), steady(scrape(&address)));
}

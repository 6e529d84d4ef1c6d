//! What a kernel refuses a read with and no directory can: strace makes the answer.

use std::process::Command;

use tests::fixture::{self, Fixture};
use tests::program::{Program, binary};

use crate::process::{scrape, state};
use crate::series::{Series, of_text, starting};

const CPU: &str = "sys/devices/system/cpu";

/// An exporter whose reads of some files are refused. Ended, and not killed: strace would leave it running.
struct Refused {
    program: Program,
    address: String,
}

impl Drop for Refused {
    fn drop(&mut self) {
        self.program.terminate();
    }
}

impl Refused {
    /// Reads of `files` of `machine` give `answer`, in strace's words: an errno, and when.
    fn start(machine: &Fixture, files: &[&str], answer: &str, flags: &[&str]) -> Self {
        let mut command = Command::new("strace");
        command.args([
            "--follow-forks",
            "--interruptible=waiting",
            "--output=/dev/null",
            "--trace=pread64",
        ]);
        command.arg(format!("--inject=pread64:error={answer}"));
        for file in files {
            command.arg("-P").arg(machine.path(file));
        }
        let root =
            |flag: &str, path: &str| format!("--path.{flag}={}", machine.path(path).display());
        command
            .arg(binary("wakelag-exporter"))
            .args([
                root("procfs", "proc"),
                root("sysfs", "sys"),
                root("devfs", "dev"),
            ])
            // Only scrapes are to read.
            .args([
                "--profile.check-interval=0",
                "--web.listen-address=127.0.0.1:0",
            ])
            .args(flags);
        let mut program = Program::spawn("strace, from Debian's package of that name", command);
        let address = program.address();
        Refused { program, address }
    }

    fn scrape(&self) -> (Series, String) {
        let text = scrape(&self.address);
        (of_text(&text), text)
    }
}

/// What a machine without trouble has, and the one whose reads of `files` give `answer` has not, in its second scrape;
/// with the text of that scrape.
fn lost(name: &str, files: &[&str], answer: &str, flags: &[&str]) -> (Vec<String>, String) {
    let machine = fixture::unpack(name);
    // Never read, so never refused.
    let (whole, _) = Refused::start(&machine, &["sys/nothing"], answer, flags).scrape();
    let refused = Refused::start(&machine, files, answer, flags);
    refused.scrape();
    let (left, text) = refused.scrape();
    let lost = whole.into_keys().filter(|name| !left.contains_key(name));
    (lost.collect(), text)
}

fn errors(text: &str, collector: &str) -> f64 {
    let start = format!("wakelag_scrape_errors_total{{collector=\"{collector}\"");
    let series = of_text(text);
    starting(&series, &start)
        .iter()
        .map(|(_, count)| count)
        .sum()
}

#[test]
fn a_file_of_a_cpu_that_goes_offline_or_fails_costs_its_series_and_no_other() {
    let file = format!("{CPU}/cpufreq/policy1/scaling_cur_freq");
    for (errno, want) in [("EBUSY", "ok"), ("ENODEV", "ok"), ("EIO", "failed")] {
        let (lost, text) = lost("intel-2s-icelake", &[&file], errno, &[]);
        assert_eq!(
            lost,
            ["wakelag_cpu_scaling_frequency_hertz{cpu=\"1\"}"],
            "{errno}"
        );
        assert_eq!(state(&text, "cpufreq"), want, "{errno}");
        let counted = format!(
            "\nwakelag_scrape_errors_total{{collector=\"cpufreq\",reason=\"{errno}\"}} 2\n"
        );
        assert!(text.contains(&counted), "{errno}");
    }
}

/// EBUSY since Linux 5.19, of every file.
#[test]
fn a_policy_that_is_offline_as_a_whole_is_no_error() {
    let files = [
        "affected_cpus",
        "related_cpus",
        "scaling_cur_freq",
        "scaling_min_freq",
        "scaling_max_freq",
        "cpuinfo_min_freq",
        "cpuinfo_max_freq",
        "scaling_governor",
        "scaling_driver",
    ]
    .map(|file| format!("{CPU}/cpufreq/policy1/{file}"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (lost, text) = lost("intel-2s-icelake", &files, "EBUSY", &[]);
    assert_eq!(lost.len(), 5, "{lost:?}");
    assert!(
        lost.iter()
            .all(|name| name.contains("frequency") && name.contains("{cpu=\"1\"}")),
        "{lost:?}"
    );
    for collector in ["cpufreq", "settings"] {
        assert_eq!(
            (state(&text, collector).as_str(), errors(&text, collector)),
            ("ok", 0.0)
        );
    }
}

/// EAGAIN where the CPU sleeps, the others where nothing counts its cycles.
#[test]
fn a_cpu_without_an_average_frequency_is_no_error() {
    let file = format!("{CPU}/cpufreq/policy2/cpuinfo_avg_freq");
    for errno in ["EAGAIN", "EINVAL", "EOPNOTSUPP"] {
        let (lost, text) = lost("arm-server", &[&file], errno, &[]);
        assert_eq!(
            lost,
            ["wakelag_cpu_frequency_avg_hertz{cpu=\"2\"}"],
            "{errno}"
        );
        assert_eq!(
            (state(&text, "cpufreq").as_str(), errors(&text, "cpufreq")),
            ("ok", 0.0)
        );
    }
}

/// intel_pstate answers EAGAIN while it is off: boost is then what others say of it.
#[test]
fn a_switch_of_a_driver_that_is_off_is_no_error() {
    let file = format!("{CPU}/intel_pstate/no_turbo");
    let (lost, text) = lost("intel-2s-icelake", &[&file], "EAGAIN", &[]);
    assert!(
        lost.iter().any(|name| name.contains("setting=\"boost\"")),
        "{lost:?}"
    );
    let of_settings = ["boost", "profile"];
    assert!(
        lost.iter()
            .all(|name| of_settings.iter().any(|part| name.contains(part))),
        "{lost:?}"
    );
    assert_eq!(
        (state(&text, "settings").as_str(), errors(&text, "settings")),
        ("ok", 0.0)
    );
}

#[test]
fn an_energy_counter_that_fails_costs_its_zone_and_no_other() {
    let file = "sys/devices/virtual/powercap/intel-rapl/intel-rapl:1/intel-rapl:1:0/energy_uj";
    for errno in ["EINVAL", "EIO", "ENODATA"] {
        let (lost, text) = lost("intel-2s-icelake", &[file], errno, &[]);
        let zone = "zone=\"intel-rapl:1:0\"";
        assert!(
            !lost.is_empty() && lost.iter().all(|name| name.contains(zone)),
            "{lost:?}"
        );
        assert_eq!(state(&text, "rapl"), "failed", "{errno}");
        let counted =
            format!("\nwakelag_scrape_errors_total{{collector=\"rapl\",reason=\"{errno}\"}} 2\n");
        assert!(text.contains(&counted), "{errno}");
    }
}

/// A kernel booted with `psi=0` has the files and answers EOPNOTSUPP.
#[test]
fn pressure_that_is_switched_off_is_absent() {
    let files = ["cpu", "memory", "io", "irq"].map(|file| format!("proc/pressure/{file}"));
    let files = files.each_ref().map(String::as_str);
    let (lost, text) = lost("kernel-6.14", &files, "EOPNOTSUPP", &[]);
    assert_eq!(lost.len(), 6, "{lost:?}");
    assert!(
        lost.iter()
            .all(|name| name.starts_with("wakelag_pressure_")),
        "{lost:?}"
    );
    assert_eq!(
        (state(&text, "pressure").as_str(), errors(&text, "pressure")),
        ("absent", 0.0)
    );
}

#[test]
fn a_thread_that_ends_while_it_is_read_is_passed_over_and_counted() {
    let flags = ["--collector.tasks.preset=mariadbd"];
    for file in ["stat", "schedstat", "status"] {
        let path = format!("proc/1660/task/1671/{file}");
        let (_, text) = lost("kernel-6.14", &[&path], "ESRCH", &flags);
        assert_eq!(
            (state(&text, "tasks").as_str(), errors(&text, "tasks")),
            ("ok", 0.0)
        );
        // What is lost of a thread with its schedstat is its times.
        let vanished = if file == "schedstat" { 0 } else { 2 };
        assert!(
            text.contains(&format!("\nwakelag_tasks_vanished_total {vanished}\n")),
            "{file}"
        );
    }
}

/// ENODEV is what a descriptor of a directory that was taken away gives; the new one has the same name.
#[test]
fn a_descriptor_of_a_driver_that_went_is_opened_again() {
    let machine = fixture::unpack("amd-4700u");
    let file = format!("{CPU}/cpu3/cpuidle/state2/time");
    let refused = Refused::start(&machine, &[&file], "ENODEV:when=2", &[]);
    let name = "wakelag_cpuidle_state_seconds_total{cpu=\"3\",state=\"2\",name=\"C2\"}";
    let (first, _) = refused.scrape();
    for _ in 0..3 {
        let (again, text) = refused.scrape();
        assert_eq!(again.get(name), first.get(name));
        assert_eq!(
            (state(&text, "cpuidle").as_str(), errors(&text, "cpuidle")),
            ("ok", 0.0)
        );
    }
}

//! CPUs that go offline and come back between scrapes.

use tests::fixture::Fixture;

use crate::series::{Host, label, starting};

const CPU: &str = "sys/devices/system/cpu";

fn cpus_of(host: &Host, family: &str) -> Vec<String> {
    let series = host.scrape();
    let mut cpus: Vec<String> = starting(&series, family)
        .iter()
        .map(|(name, _)| label(name, "cpu").unwrap().to_owned())
        .collect();
    cpus.dedup();
    cpus
}

/// The whole of what the kernel takes away: directories, lines, numbers in lists.
fn take_offline(machine: &Fixture, cpu: u32) {
    machine.write(&format!("{CPU}/cpufreq/policy{cpu}/affected_cpus"), "\n");
    for dir in ["topology", "thermal_throttle"] {
        machine.remove(&format!("{CPU}/cpu{cpu}/{dir}"));
    }
    for file in ["proc/stat", "proc/schedstat"] {
        let text = machine.read(file);
        let mut own = false;
        let rest = text.lines().filter(|line| {
            own = line.starts_with(&format!("cpu{cpu} ")) || (own && line.starts_with("domain"));
            !own && !line.is_empty()
        });
        let rest: Vec<_> = rest.collect();
        machine.write(file, &format!("{}\n", rest.join("\n")));
    }
}

const FAMILIES: [&str; 6] = [
    "wakelag_cpuidle_state_seconds_total",
    "wakelag_cpuidle_max_enabled_exit_latency_seconds",
    "wakelag_cpuidle_state_disabled",
    "wakelag_cpu_scaling_frequency_hertz",
    "wakelag_cpu_seconds_total",
    "wakelag_schedstat_running_seconds_total",
];

#[test]
fn cpus_that_go_offline_lose_their_series_and_get_them_back() {
    let host = Host::new("intel-2s-icelake", |machine| {
        for cpu in 0..8 {
            machine.write(&format!("{CPU}/cpu{cpu}/cpuidle/state3/disable"), "0\n");
        }
    });
    host.scrape();
    let online = host.machine.read(&format!("{CPU}/online"));
    let (stat, schedstat) = (
        host.machine.read("proc/stat"),
        host.machine.read("proc/schedstat"),
    );
    for cpu in [1, 3, 4, 5] {
        take_offline(&host.machine, cpu);
    }
    host.machine.remove(&format!("{CPU}/offline"));
    host.machine.write(&format!("{CPU}/offline"), "1,3-5\n");
    // Longer than `0-7`, which a kept descriptor has to see too.
    host.machine.write(&format!("{CPU}/online"), "0,2,6-7\n");
    for _ in 0..2 {
        for family in FAMILIES {
            assert_eq!(cpus_of(&host, family), ["0", "2", "6", "7"], "{family}");
        }
        assert_eq!(host.unwell(), [""; 0]);
    }
    let series = host.scrape();
    assert_eq!(
        series["wakelag_setting_last_change_timestamp_seconds{setting=\"governor\"}"],
        0.0
    );
    assert_eq!(
        series["wakelag_setting_last_change_timestamp_seconds{setting=\"idle_limit\"}"],
        0.0
    );
    assert_eq!(series["wakelag_profile_changes_total"], 0.0);

    for cpu in [1, 3, 4, 5] {
        host.machine.write(
            &format!("{CPU}/cpufreq/policy{cpu}/affected_cpus"),
            &format!("{cpu}\n"),
        );
    }
    host.machine.write("proc/stat", &stat);
    host.machine.write("proc/schedstat", &schedstat);
    host.machine.write(&format!("{CPU}/online"), &online);
    for family in FAMILIES {
        assert_eq!(
            cpus_of(&host, family),
            ["0", "1", "2", "3", "4", "5", "6", "7"],
            "{family}"
        );
    }
}

#[test]
fn a_cpu_that_is_removed_with_its_directory_costs_nothing_else() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    let open = open_files(&host);
    for _ in 0..3 {
        for (list, cpus) in [("0-6\n", 7), ("0-7\n", 8)] {
            let (from, to) = (
                host.machine.path(&format!("{CPU}/cpu7")),
                host.machine.path("sys/cpu7"),
            );
            match cpus {
                7 => std::fs::rename(from, to).unwrap(),
                _ => std::fs::rename(to, from).unwrap(),
            }
            host.machine.write(&format!("{CPU}/online"), list);
            let affected = if cpus == 7 { "\n" } else { "7\n" };
            host.machine
                .write(&format!("{CPU}/cpufreq/policy7/affected_cpus"), affected);
            assert_eq!(cpus_of(&host, FAMILIES[0]).len(), cpus);
            assert_eq!(host.unwell(), [""; 0]);
        }
    }
    assert_eq!(open_files(&host), open);
}

#[test]
fn a_host_without_the_file_offline_works() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove(&format!("{CPU}/offline"));
        machine.remove(&format!("{CPU}/possible"));
        machine.remove(&format!("{CPU}/present"));
    });
    assert_eq!(cpus_of(&host, FAMILIES[0]).len(), 8);
    assert_eq!(host.unwell(), [""; 0]);
}

fn open_files(host: &Host) -> usize {
    let root = host.machine.root().to_string_lossy().into_owned();
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with(&root))
        .count()
}

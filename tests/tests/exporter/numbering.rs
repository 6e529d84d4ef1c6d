//! CPUs whose numbers have holes, and CPUs that come and go, over the whole exposition.

use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};

const CPU: &str = "sys/devices/system/cpu";

#[test]
fn holes_in_the_numbers_of_cpus_are_no_cpus() {
    let host = Host::new("cpus-with-holes", |_| {});
    let series = host.scrape();
    assert_eq!(host.unwell(), [""; 0]);
    let cpus = |family: &str| {
        let mut cpus: Vec<u32> = starting(&series, &format!("wakelag_{family}{{"))
            .iter()
            .map(|(name, _)| label(name, "cpu").unwrap().parse().unwrap())
            .collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    };
    assert_eq!(cpus("cpu_online"), [0, 1, 2, 3, 8, 9, 10, 11]);
    for family in [
        "cpuidle_state_seconds_total",
        "cpuidle_max_enabled_exit_latency_seconds",
        "cpu_scaling_frequency_hertz",
        "cpu_frequency_transitions_total",
        "cpu_seconds_total",
        "schedstat_running_seconds_total",
    ] {
        assert_eq!(cpus(family), [0, 2, 3, 8, 10, 11], "{family}");
    }
    // CPU 1 has another governor, and nobody runs under it.
    assert_eq!(
        series["wakelag_setting_ratio{setting=\"governor\",value=\"ondemand\"}"],
        1.0
    );
}

/// CPU 1 of `cpus-with-holes` comes online as the kernel does it.
fn bring_online(machine: &Fixture) {
    machine.write(&format!("{CPU}/cpu1/online"), "1\n");
    for (file, text) in [
        ("physical_package_id", "0\n"),
        ("core_id", "1\n"),
        ("die_id", "0\n"),
    ] {
        machine.write(&format!("{CPU}/cpu1/topology/{file}"), text);
    }
    machine.write(&format!("{CPU}/cpufreq/policy1/affected_cpus"), "1\n");
    machine.write(
        &format!("{CPU}/cpufreq/policy1/scaling_governor"),
        "ondemand\n",
    );
    let stat = machine.read("proc/stat");
    machine.write(
        "proc/stat",
        &stat.replacen("\ncpu2 ", "\ncpu1 7 0 8 9000 1 0 2 0 0 0\ncpu2 ", 1),
    );
    let schedstat = machine.read("proc/schedstat");
    let line = "\ncpu1 0 0 0 0 0 0 5000000000 100000000 700\ncpu2 ";
    machine.write("proc/schedstat", &schedstat.replacen("\ncpu2 ", line, 1));
    machine.write(&format!("{CPU}/offline"), "4-7,9\n");
    machine.write(&format!("{CPU}/online"), "0-3,8,10-11\n");
}

/// And goes again.
fn take_offline(machine: &Fixture, before: &[(&str, String)]) {
    machine.write(&format!("{CPU}/cpu1/online"), "0\n");
    machine.remove(&format!("{CPU}/cpu1/topology"));
    machine.write(&format!("{CPU}/cpufreq/policy1/affected_cpus"), "\n");
    for (file, text) in before {
        machine.write(file, text);
    }
}

#[test]
fn a_cpu_that_comes_and_goes_brings_its_own_series_and_takes_them_along() {
    let host = Host::new("cpus-with-holes", |_| {});
    let files = [
        "proc/stat",
        "proc/schedstat",
        "sys/devices/system/cpu/offline",
        "sys/devices/system/cpu/online",
    ];
    let kept = files.map(|file| (file, host.machine.read(file)));
    let before = host.scrape();
    let mine = |name: &str| name.contains("cpu=\"1\"") && !name.starts_with("wakelag_cpu_online");
    // Time goes on, and so does what is counted by profile.
    let steady = |series: &Series| {
        let steady = series.iter().filter(|(name, _)| !mine(name));
        let steady = steady.filter(|(name, _)| !name.starts_with("wakelag_profile_seconds_total"));
        let steady = steady.filter(|(name, _)| !name.starts_with("wakelag_cpu_online{cpu=\"1\"}"));
        steady
            .map(|(name, value)| (name.clone(), *value))
            .collect::<Vec<_>>()
    };
    for _ in 0..2 {
        bring_online(&host.machine);
        let with = host.scrape();
        assert_eq!(host.unwell(), [""; 0]);
        let own = with.keys().filter(|name| mine(name)).count();
        let other = with
            .keys()
            .filter(|name| name.contains("cpu=\"2\""))
            .count();
        // cpu_online and cpu_isolated are of CPUs that are offline too.
        assert_eq!(
            own + 1,
            other,
            "{:?}",
            with.keys().filter(|name| mine(name)).collect::<Vec<_>>()
        );
        assert_eq!(steady(&with), steady(&before));
        assert_eq!(with["wakelag_cpu_online{cpu=\"1\"}"], 1.0);

        take_offline(&host.machine, &kept);
        let without = host.scrape();
        assert_eq!(host.unwell(), [""; 0]);
        assert_eq!(steady(&without), steady(&before));
        assert_eq!(
            without.keys().collect::<Vec<_>>(),
            before.keys().collect::<Vec<_>>()
        );
    }
}

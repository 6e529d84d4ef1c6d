//! The fixture machines as a whole: what holds for each of them, and what one of them is there for.

use exporter::collector::State;
use exporter::collectors::COLLECTORS;
use tests::fixture::{self, Fixture};
use toolkit::metric::family;

use crate::series::{Host, Series, label, series, starting, unwell};
use crate::support;

const CPU: &str = "sys/devices/system/cpu";

/// Everything that can be asked for.
const ALL: [&str; 2] = [
    "--collector.interrupts",
    "--collector.tasks.preset=postgres",
];

#[test]
fn a_collector_that_is_well_has_published_something_and_one_that_is_not_there_nothing() {
    for machine in fixture::machines() {
        let fixture = fixture::unpack(&machine);
        let exporter = support::exporter_of(&fixture, &ALL);
        let families = support::scrape(&exporter);
        for standing in exporter.standings() {
            let outcome = standing.outcome.unwrap();
            let name = standing.info.name;
            let published = standing.info.metrics.iter().any(|desc| {
                family(&families, desc.name).is_some_and(|family| family.samples().len() > 0)
            });
            match outcome.state {
                State::Ok => assert!(published, "{machine}: {name} is ok and says nothing"),
                State::Absent => assert!(!published, "{machine}: {name} is absent"),
                _ => {}
            }
            assert!(
                outcome.state == State::Ok || !outcome.reason.is_empty(),
                "{machine}: {name} does not say why"
            );
        }
    }
}

/// Every collector at once has to agree on names, labels and who publishes what.
#[test]
fn everything_that_can_be_asked_for_is_one_exposition() {
    for machine in fixture::machines() {
        let host = Host::with_flags(&machine, &ALL, |_| {});
        assert_eq!(host.exporter.standings().len(), COLLECTORS.len());
        let families = support::scrape(&host.exporter);
        let mut names: Vec<_> = families.iter().map(|family| family.name()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{machine}");
        for family in &families {
            let mut all = family
                .samples()
                .map(|sample| sample.labels().map(|(name, _)| name).collect::<Vec<_>>());
            let first = all.next().unwrap();
            assert!(
                all.all(|labels| labels == first),
                "{machine}: {}",
                family.name()
            );
        }
        // Panics on a sample that is there twice.
        series(&families);
    }
}

#[test]
fn a_state_that_is_off_by_default_is_told_from_one_that_somebody_switched_off() {
    let server = Host::new("intel-2s-sapphire-rapids", |machine| {
        machine.write(&format!("{CPU}/cpu1/cpuidle/state2/disable"), "1\n");
    });
    let series = server.scrape();
    let c6 = |family: &str, cpu: u32| {
        series[&format!("wakelag_cpuidle_state_{family}{{cpu=\"{cpu}\",state=\"3\",name=\"C6\"}}")]
    };
    for cpu in 0..4 {
        assert_eq!(c6("default_disabled", cpu), 1.0);
        assert_eq!(c6("disabled", cpu), if cpu == 3 { 0.0 } else { 1.0 });
    }
    let c1e = "{cpu=\"1\",state=\"2\",name=\"C1E\"}";
    assert_eq!(series[&format!("wakelag_cpuidle_state_disabled{c1e}")], 1.0);
    assert_eq!(
        series[&format!("wakelag_cpuidle_state_default_disabled{c1e}")],
        0.0
    );
}

#[test]
fn the_energy_of_the_platform_is_a_zone_of_its_own_and_is_not_added_to_the_packages() {
    let series = Host::new("intel-2s-sapphire-rapids", |_| {}).scrape();
    let names = |family: &str| {
        let of = starting(&series, family).into_iter();
        let mut names: Vec<_> = of
            .map(|(name, _)| label(name, "name").unwrap().to_owned())
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(
        names("wakelag_rapl_energy_joules_total"),
        ["dram", "dram", "package-0", "package-1", "psys"]
    );
    let by_profile = names("wakelag_profile_energy_joules_total");
    assert!(
        by_profile.contains(&"package-1".to_owned()),
        "{by_profile:?}"
    );
}

#[test]
fn an_arm_server_has_idle_states_without_polling_and_averages_where_a_cpu_works() {
    let server = Host::new("arm-server", |_| {});
    let series = server.scrape();
    assert_eq!(server.unwell(), [""; 0]);
    let state = |index: u32, name: &str| {
        let labels = format!("{{cpu=\"0\",state=\"{index}\",name=\"{name}\"}}");
        series.contains_key(&format!("wakelag_cpuidle_state_seconds_total{labels}"))
    };
    assert!(state(0, "LPI-0") && state(1, "LPI-1"));
    let averages = starting(&series, "wakelag_cpu_frequency_avg_hertz");
    assert_eq!(averages.len(), 2, "{averages:?}");
    assert!(starting(&series, "wakelag_cpu_frequency_state_seconds_total").is_empty());
    assert_eq!(server.state("rapl"), State::Absent);
}

#[test]
fn cores_of_two_kinds_have_states_and_frequencies_of_their_own() {
    let series = Host::new("arm-big-little", |_| {}).scrape();
    let states = |cpu: u32| {
        let all = starting(&series, "wakelag_cpuidle_state_exit_latency_seconds").into_iter();
        let of = all.filter(move |(name, _)| label(name, "cpu") == Some(&cpu.to_string()));
        of.map(|(name, latency)| (label(name, "name").unwrap().to_owned(), latency))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        states(1),
        [("WFI".to_owned(), 1e-6), ("cpu-sleep-0".to_owned(), 120e-6)]
    );
    assert_eq!(states(3).len(), 3);
    assert_eq!(states(3)[1], ("cpu-sleep-1".to_owned(), 250e-6));
    let highest = |cpu: u32| series[&format!("wakelag_cpu_frequency_max_hertz{{cpu=\"{cpu}\"}}")];
    assert_eq!([0, 1, 2, 3].map(highest), [1.416e9, 1.416e9, 1.8e9, 1.8e9]);
    // A policy counts once.
    assert_eq!(
        starting(&series, "wakelag_cpu_frequency_transitions_total").len(),
        2
    );
}

#[test]
fn what_a_container_hides_is_absent_or_denied_and_costs_nothing_else() {
    let host = Host::with_flags("container-masked", &ALL[..1], |_| {});
    for _ in 0..2 {
        let series = host.scrape();
        assert_eq!(host.state("rapl"), State::Absent);
        assert_eq!(host.state("throttle"), State::Absent);
        assert_eq!(
            unwell(&host.exporter).len(),
            1,
            "{:?}",
            unwell(&host.exporter)
        );
        assert_eq!(host.state("interrupts"), State::Denied);
        for family in [
            "cpuidle_state_seconds",
            "cpu_scaling_frequency",
            "schedstat_running",
            "pressure_cpu",
        ] {
            assert!(
                !starting(&series, &format!("wakelag_{family}")).is_empty(),
                "{family}"
            );
        }
    }
}

/// Debian 11: tunables are sysctls, features have a file of another name, pressure has no `full` of the CPU.
#[test]
fn an_old_kernel_has_what_it_has_where_it_has_it() {
    let host = Host::new("debian-5.10", |_| {});
    let series = host.scrape();
    assert_eq!(host.unwell(), [""; 0]);
    assert_eq!(series["wakelag_sched_latency_seconds"], 0.018);
    assert_eq!(
        series["wakelag_sched_feature_enabled{feature=\"WAKEUP_PREEMPTION\"}"],
        1.0
    );
    assert_eq!(
        series["wakelag_sched_feature_enabled{feature=\"HRTICK\"}"],
        0.0
    );
    assert_eq!(series["wakelag_schedstat_version"], 15.0);
    assert!(series.contains_key("wakelag_pressure_cpu_waiting_seconds_total"));
    for family in [
        "wakelag_pressure_irq",
        "wakelag_sched_base_slice",
        "wakelag_cpu_frequency_avg",
    ] {
        assert!(starting(&series, family).is_empty(), "{family}");
    }
}

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

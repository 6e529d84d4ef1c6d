//! The fixture machines as a whole: what holds for each of them, and what one of them is there for.

use exporter::collector::State;
use exporter::collectors::COLLECTORS;
use tests::fixture::{self};
use toolkit::metric::family;

use crate::series::{Host, label, series, starting, unwell};
use crate::support;

const CPU: &str = "sys/devices/system/cpu";

/// Everything that can be asked for.
const ALL: [&str; 3] = [
    "--collector.interrupts",
    "--collector.tasks.preset=postgres",
    "--collector.cstate",
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

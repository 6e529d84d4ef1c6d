//! Energy preferences that interrupt the CPU that is asked: left alone, or asked seldom.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};

const CPU: &str = "sys/devices/system/cpu";
const MACHINE: &str = "intel-2s-icelake";

fn epp(cpu: u32) -> String {
    format!("{CPU}/cpufreq/policy{cpu}/energy_performance_preference")
}

fn epb(cpu: u32) -> String {
    format!("{CPU}/cpu{cpu}/power/energy_perf_bias")
}

fn prefer(machine: &Fixture, preference: &str) {
    (0..8).for_each(|cpu| machine.write(&epp(cpu), &format!("{preference}\n")));
}

fn share(series: &Series, setting: &str, value: &str) -> Option<f64> {
    let name = format!("wakelag_setting_ratio{{setting=\"{setting}\",value=\"{value}\"}}");
    series.get(&name).copied()
}

/// The energy preference in the profile.
fn part(series: &Series) -> &str {
    let info = starting(series, "wakelag_profile_info")[0].0;
    label(info, "epp").unwrap()
}

#[test]
fn what_interrupts_a_cpu_is_not_opened_unless_asked_for_and_the_outcome_names_the_flag() {
    let host = Host::new(MACHINE, |machine| {
        for cpu in 0..8 {
            machine.make_fifo(&epp(cpu));
            machine.make_fifo(&epb(cpu));
        }
    });
    let series = host.scrape();
    assert_eq!(starting(&series, "wakelag_setting_ratio{setting=\"ep"), []);
    assert_eq!(part(&series), "");
    assert_eq!(host.state("settings"), State::Ok);
    let reason = host.reason("settings");
    let want = "energy_performance_preference: reading it interrupts the CPU (cost class C); --collector.epp has it";
    assert!(reason.contains(want), "{reason}");
}

#[test]
fn a_host_with_nothing_that_interrupts_has_no_word_about_it() {
    for machine in ["kernel-6.14", "guest-empty"] {
        let host = Host::new(machine, |_| {});
        host.scrape();
        assert!(!host.reason("settings").contains("interrupts"), "{machine}");
    }
}

#[test]
fn asked_for_it_is_a_setting_and_a_part_of_the_profile() {
    let host = Host::with_flags(MACHINE, &["--collector.epp"], |machine| {
        prefer(machine, "balance_performance");
        machine.write(&epb(0), "0\n");
        machine.write(&epb(1), "5\n");
    });
    let series = host.scrape();
    assert_eq!(share(&series, "epp", "balance_performance"), Some(1.0));
    assert_eq!(share(&series, "epp", "power"), Some(0.0));
    assert_eq!(part(&series), "balance_performance");
    let biases = ["normal", "performance", "5", "power"].map(|v| share(&series, "epb", v));
    assert_eq!(biases, [Some(0.75), Some(0.125), Some(0.125), Some(0.0)]);
    assert_eq!(host.unwell(), [""; 0]);
}

#[test]
fn it_is_read_again_when_the_governor_changes_or_the_interval_is_over_and_else_not() {
    let host = Host::with_flags(MACHINE, &["--collector.epp"], |machine| {
        prefer(machine, "balance_power");
    });
    assert_eq!(part(&host.scrape()), "balance_power");
    prefer(&host.machine, "performance");
    assert_eq!(
        part(&host.scrape()),
        "balance_power",
        "the interval is not over"
    );
    let governor = format!("{CPU}/cpufreq/policy3/scaling_governor");
    host.machine.write(&governor, "performance\n");
    let series = host.scrape();
    assert_eq!(part(&series), "performance");
    let changed = "wakelag_setting_last_change_timestamp_seconds{setting=\"epp\"}";
    assert!(series[changed] > 1.7e9);

    let flags = ["--collector.epp", "--collector.epp.interval=0.000001"];
    let host = Host::with_flags(MACHINE, &flags, |machine| prefer(machine, "power"));
    host.scrape();
    prefer(&host.machine, "performance");
    assert_eq!(part(&host.scrape()), "performance");
}

#[test]
fn isolated_cpus_and_those_without_a_tick_are_asked_only_when_that_is_said() {
    let change = |machine: &Fixture| {
        machine.remove(&format!("{CPU}/isolated"));
        machine.write(&format!("{CPU}/isolated"), "6\n");
        machine.remove(&format!("{CPU}/nohz_full"));
        machine.write(&format!("{CPU}/nohz_full"), "6-7\n");
        prefer(machine, "power");
        for cpu in 6..8 {
            machine.remove(&epp(cpu));
            machine.write(&epp(cpu), "performance\n");
        }
    };
    let host = Host::with_flags(MACHINE, &["--collector.epp"], change);
    assert_eq!(share(&host.scrape(), "epp", "power"), Some(1.0));
    let flags = ["--collector.epp", "--collector.epp.isolated"];
    let host = Host::with_flags(MACHINE, &flags, change);
    assert_eq!(share(&host.scrape(), "epp", "power"), Some(0.75));
    // It cannot be known which CPUs are not to be disturbed.
    let host = Host::with_flags(MACHINE, &["--collector.epp"], |machine| {
        change(machine);
        machine.write(&format!("{CPU}/isolated"), "???\n");
    });
    assert_eq!(share(&host.scrape(), "epp", "power"), None);
    assert_eq!(host.state("settings"), State::Failed);
}

#[test]
fn a_cpu_that_cannot_be_understood_costs_itself_and_stays_an_error_without_being_asked_again() {
    let host = Host::with_flags(MACHINE, &["--collector.epp"], |machine| {
        prefer(machine, "power");
        machine.remove(&epb(2));
        machine.write(&epb(2), "16\n");
    });
    for _ in 0..2 {
        let series = host.scrape();
        assert_eq!(share(&series, "epb", "normal"), Some(1.0));
        assert_eq!(share(&series, "epp", "power"), Some(1.0));
        assert_eq!(host.state("settings"), State::Failed);
        host.machine.write(&epb(2), "6\n");
    }
}

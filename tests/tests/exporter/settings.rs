//! Settings: sources that contradict each other, values that vanish, switches of drivers.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};

const CPU: &str = "sys/devices/system/cpu";

fn ratio(series: &Series, setting: &str, value: &str) -> Option<f64> {
    let name = format!("wakelag_setting_ratio{{setting=\"{setting}\",value=\"{value}\"}}");
    series.get(&name).copied()
}

#[test]
fn boost_is_the_switch_that_rules() {
    let no_turbo =
        |machine: &Fixture, text| machine.write(&format!("{CPU}/intel_pstate/no_turbo"), text);
    let boost = |machine: &Fixture, text| machine.write(&format!("{CPU}/cpufreq/boost"), text);
    let policy = |machine: &Fixture, policy: u32, text| {
        machine.write(&format!("{CPU}/cpufreq/policy{policy}/boost"), text)
    };
    let none = |machine: &Fixture| machine.remove(&format!("{CPU}/intel_pstate"));
    type Change<'c> = &'c dyn Fn(&Fixture);
    let cases: [(&str, Change, Option<f64>, &str); 8] = [
        ("no_turbo", &|m| no_turbo(m, "0\n"), Some(1.0), "on"),
        ("no_turbo set", &|m| no_turbo(m, "1\n"), Some(0.0), "off"),
        (
            "no_turbo against boost",
            &|m| {
                no_turbo(m, "1\n");
                boost(m, "1\n");
            },
            Some(0.0),
            "off",
        ),
        (
            "boost",
            &|m| {
                none(m);
                boost(m, "0\n");
            },
            Some(0.0),
            "off",
        ),
        (
            "boost off against policies",
            &|m| {
                none(m);
                boost(m, "0\n");
                (0..8).for_each(|p| policy(m, p, "1\n"));
            },
            Some(0.0),
            "off",
        ),
        (
            "boost on but for some policies",
            &|m| {
                none(m);
                boost(m, "1\n");
                (0..8).for_each(|p| policy(m, p, if p < 2 { "0\n" } else { "1\n" }));
            },
            Some(0.75),
            "mixed",
        ),
        (
            "policies only",
            &|m| {
                none(m);
                (0..8).for_each(|p| policy(m, p, "0\n"));
            },
            Some(0.0),
            "off",
        ),
        ("none", &|m| none(m), None, ""),
    ];
    for (case, change, on, part) in cases {
        let host = Host::new("intel-2s-icelake", change);
        let series = host.scrape();
        assert_eq!(ratio(&series, "boost", "on"), on, "{case}");
        let info = starting(&series, "wakelag_profile_info");
        assert_eq!(label(info[0].0, "boost"), Some(part), "{case}");
        assert_eq!(host.unwell(), [""; 0], "{case}");
    }
}

#[test]
fn smt_is_in_exactly_one_state() {
    for (text, want) in [
        ("on\n", "on"),
        ("off\n", "off"),
        ("forceoff\n", "forceoff"),
        ("notsupported\n", "notsupported"),
        ("notimplemented\n", "notimplemented"),
        ("1\n", "off"),
        ("2\n", "on"),
        ("4\n", "on"),
    ] {
        let host = Host::new("intel-2s-icelake", |machine| {
            machine.remove(&format!("{CPU}/smt/control"));
            machine.write(&format!("{CPU}/smt/control"), text);
        });
        let series = host.scrape();
        let states = starting(&series, "wakelag_setting_ratio{setting=\"smt\"");
        assert_eq!(states.len(), 5, "{text}");
        let on: Vec<_> = states.iter().filter(|(_, share)| *share == 1.0).collect();
        assert_eq!(on.len(), 1, "{text}");
        assert_eq!(label(on[0].0, "value"), Some(want));
    }
}

#[test]
fn a_setting_that_cannot_be_read_is_left_out_and_is_no_change() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    host.machine.write(&format!("{CPU}/smt/control"), "??\n");
    let series = host.scrape();
    assert_eq!(
        starting(&series, "wakelag_setting_ratio{setting=\"smt\""),
        []
    );
    assert_eq!(host.state("settings"), State::Failed);
    host.machine.write(&format!("{CPU}/smt/control"), "on\n");
    let series = host.scrape();
    assert_eq!(ratio(&series, "smt", "on"), Some(1.0));
    assert_eq!(
        series["wakelag_setting_last_change_timestamp_seconds{setting=\"smt\"}"],
        0.0
    );
}

/// Writing to `intel_pstate/status` takes all policies away and makes new ones, with another driver.
#[test]
fn a_switch_of_the_frequency_driver_is_seen() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    for policy in 0..8 {
        host.machine.write(
            &format!("{CPU}/cpufreq/policy{policy}/scaling_driver"),
            "intel_cpufreq\n",
        );
        host.machine.write(
            &format!("{CPU}/cpufreq/policy{policy}/scaling_governor"),
            "schedutil\n",
        );
    }
    let series = host.scrape();
    assert_eq!(ratio(&series, "scaling_driver", "intel_cpufreq"), Some(1.0));
    assert_eq!(ratio(&series, "scaling_driver", "intel_pstate"), Some(0.0));
    assert!(
        series["wakelag_setting_last_change_timestamp_seconds{setting=\"scaling_driver\"}"] > 1.7e9
    );
}

#[test]
fn the_energy_preference_is_read_where_that_is_free_only() {
    let epp = |host: &Host| {
        let series = host.scrape();
        starting(&series, "wakelag_setting_ratio{setting=\"epp\"").len()
    };
    assert_eq!(epp(&Host::new("kernel-6.14", |_| {})), 5);
    for release in ["6.12.0\n", "5.14.0-570.el9\n", "6.8.0-101-generic\n", "x\n"] {
        let host = Host::new("kernel-6.14", |machine| {
            machine.remove("proc/sys/kernel/osrelease");
            machine.write("proc/sys/kernel/osrelease", release);
            for policy in 0..8 {
                machine.make_fifo(&format!(
                    "{CPU}/cpufreq/policy{policy}/energy_performance_preference"
                ));
            }
        });
        assert_eq!(epp(&host), 0, "{release}");
        assert_eq!(host.state("settings"), State::Ok);
    }
    for release in ["6.14.0\n", "6.17.5-arch1-1\n", "7.2.0\n", "10.0\n"] {
        let host = Host::new("kernel-6.14", |machine| {
            machine.remove("proc/sys/kernel/osrelease");
            machine.write("proc/sys/kernel/osrelease", release);
        });
        assert_eq!(epp(&host), 5, "{release}");
    }
}

#[test]
fn a_governor_that_cannot_be_read_costs_its_policy_and_no_other() {
    let host = Host::new("intel-2s-icelake", |machine| {
        let file = format!("{CPU}/cpufreq/policy3/scaling_governor");
        machine.remove(&file);
        std::fs::create_dir(machine.path(&file)).unwrap();
    });
    for _ in 0..2 {
        let series = host.scrape();
        assert_eq!(ratio(&series, "governor", "powersave"), Some(1.0));
        assert_eq!(host.state("settings"), State::Failed);
        assert_eq!(host.state("cpufreq"), State::Ok);
    }
}

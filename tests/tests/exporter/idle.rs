//! Idle states: kernels that lack files, CPUs that differ, counters that jump.

use exporter::collector::State;

use crate::series::{Host, label, starting};

const CPU: &str = "sys/devices/system/cpu";

fn intel() -> Host {
    Host::new("intel-2s-icelake", |_| {})
}

/// Files that an older kernel, or one built otherwise, does not have.
#[test]
fn a_kernel_without_a_file_of_idle_states_leaves_out_that_series_only() {
    let all = intel().scrape();
    for (file, family) in [
        ("rejected", "wakelag_cpuidle_state_rejected_total"),
        ("above", "wakelag_cpuidle_state_above_total"),
        ("below", "wakelag_cpuidle_state_below_total"),
        ("usage", "wakelag_cpuidle_state_entries_total"),
        ("time", "wakelag_cpuidle_state_seconds_total"),
        (
            "residency",
            "wakelag_cpuidle_state_target_residency_seconds",
        ),
        ("disable", "wakelag_cpuidle_state_disabled"),
        ("default_status", "wakelag_cpuidle_state_default_disabled"),
        ("desc", "none"),
        ("power", "none"),
    ] {
        let host = Host::new("intel-2s-icelake", |machine| {
            for (cpu, state) in (0..8).flat_map(|cpu| (0..4).map(move |state| (cpu, state))) {
                machine.remove(&format!("{CPU}/cpu{cpu}/cpuidle/state{state}/{file}"));
            }
        });
        let left = host.scrape();
        for name in all.keys() {
            let goes = name.starts_with(&format!("{family}{{"));
            // Which states are allowed cannot be known without the switches.
            let follows = file == "disable"
                && (name.contains("profile")
                    || name.contains("idle_limit")
                    || name.starts_with("wakelag_cpuidle_max_enabled"));
            assert!(left.contains_key(name) != goes || follows, "{file}: {name}");
        }
        for _ in 0..2 {
            assert_eq!(host.unwell(), [""; 0], "{file}");
            let errors = starting(&left, "wakelag_scrape_errors_total{collector=\"cpuidle\"");
            assert!(errors.iter().all(|(_, count)| *count == 0.0), "{errors:?}");
            host.scrape();
        }
    }
}

#[test]
fn cpus_with_different_idle_states_export_their_own() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove(&format!("{CPU}/cpu1/cpuidle/state3"));
        machine.remove(&format!("{CPU}/cpu2/cpuidle/state2"));
        machine.remove(&format!("{CPU}/cpu2/cpuidle/state3"));
        machine.write(&format!("{CPU}/cpu3/cpuidle/state1/name"), "WFI\n");
        machine.remove(&format!("{CPU}/cpu4/cpuidle"));
    });
    for _ in 0..3 {
        let series = host.scrape();
        let seconds = starting(&series, "wakelag_cpuidle_state_seconds_total");
        let of = |cpu| {
            seconds
                .iter()
                .filter(move |(name, _)| label(name, "cpu") == Some(cpu))
        };
        let counts = ["0", "1", "2", "3", "4"].map(|cpu| of(cpu).count());
        assert_eq!(counts, [4, 3, 2, 4, 0]);
        assert!(of("3").any(|(name, _)| label(name, "name") == Some("WFI")));
        let deepest = |cpu| {
            series[&format!("wakelag_cpuidle_max_enabled_exit_latency_seconds{{cpu=\"{cpu}\"}}")]
        };
        assert_eq!([0, 1, 2].map(deepest), [170e-6, 4e-6, 1e-6]);
        let info = starting(&series, "wakelag_profile_info");
        assert_eq!(label(info[0].0, "idle_limit"), Some("mixed"));
        assert_eq!(host.unwell(), [""; 0]);
    }
}

/// More than ten idle states do not exist; their order is that of numbers all the same.
#[test]
fn the_deepest_state_is_the_one_with_the_highest_number() {
    let host = Host::new("intel-2s-icelake", |machine| {
        for (file, text) in [
            ("name", "C10\n"),
            ("latency", "900\n"),
            ("residency", "1800\n"),
            ("disable", "0\n"),
        ] {
            machine.write(&format!("{CPU}/cpu0/cpuidle/state10/{file}"), text);
        }
    });
    assert_eq!(
        host.scrape()["wakelag_cpuidle_max_enabled_exit_latency_seconds{cpu=\"0\"}"],
        900e-6
    );
}

#[test]
fn time_that_goes_back_is_a_counter_that_began_anew() {
    let host = intel();
    host.scrape();
    for text in ["7000000\n", "3000000\n", "0\n"] {
        host.machine
            .write(&format!("{CPU}/cpu0/cpuidle/state2/time"), text);
        let series = host.scrape();
        let seconds =
            series["wakelag_cpuidle_state_seconds_total{cpu=\"0\",state=\"2\",name=\"C1E\"}"];
        assert_eq!(seconds, text.trim().parse::<f64>().unwrap() / 1e6);
        assert_eq!(host.state("cpuidle"), State::Ok);
    }
}

#[test]
fn idle_time_never_advances_faster_than_the_clock() {
    let host = intel();
    let before = host.scrape();
    let started = std::time::Instant::now();
    host.machine.write(
        &format!("{CPU}/cpu0/cpuidle/state3/time"),
        "9201345678912\n",
    );
    std::thread::sleep(std::time::Duration::from_millis(20));
    let after = host.scrape();
    let name = "wakelag_cpuidle_state_seconds_total{cpu=\"0\",state=\"3\",name=\"C6\"}";
    let advanced = after[name] - before[name];
    assert!(
        advanced > 0.0 && advanced < started.elapsed().as_secs_f64() + 0.1,
        "{advanced}"
    );
}

#[test]
fn a_state_switched_off_on_one_cpu_changes_that_cpu_only() {
    let host = intel();
    let before = host.scrape();
    host.machine
        .write(&format!("{CPU}/cpu5/cpuidle/state3/disable"), "1\n");
    let after = host.scrape();
    let is_changed = |name: &&String| before.get(*name) != after.get(*name);
    let own = |name: &&String| {
        name.starts_with("wakelag_cpuidle_state_disabled")
            || name.starts_with("wakelag_cpuidle_max")
    };
    let changed: Vec<_> = after.keys().filter(is_changed).filter(own).collect();
    assert_eq!(
        changed,
        [
            "wakelag_cpuidle_max_enabled_exit_latency_seconds{cpu=\"5\"}",
            "wakelag_cpuidle_state_disabled{cpu=\"5\",state=\"3\",name=\"C6\"}",
        ]
    );
    assert_eq!(after[changed[0]], 4e-6);
    assert_eq!(after[changed[1]], 1.0);
}

#[test]
fn counters_beyond_the_precision_of_a_double_are_rounded_and_beyond_64_bits_refused() {
    let host = intel();
    let usage = format!("{CPU}/cpu0/cpuidle/state0/usage");
    for (text, value) in [
        ("9007199254740993\n", 9_007_199_254_740_992.0),
        ("18446744073709551615\n", 18_446_744_073_709_551_616.0),
    ] {
        host.machine.write(&usage, text);
        let series = host.scrape();
        assert_eq!(
            series["wakelag_cpuidle_state_entries_total{cpu=\"0\",state=\"0\",name=\"POLL\"}"],
            value
        );
        assert_eq!(host.state("cpuidle"), State::Ok);
    }
    host.machine.write(&usage, "18446744073709551616\n");
    let series = host.scrape();
    assert!(
        !series.contains_key(
            "wakelag_cpuidle_state_entries_total{cpu=\"0\",state=\"0\",name=\"POLL\"}"
        )
    );
    assert_eq!(
        series["wakelag_scrape_errors_total{collector=\"cpuidle\",reason=\"parse\"}"],
        1.0
    );
    assert_eq!(host.state("cpuidle"), State::Failed);
}

#[test]
fn a_state_whose_switch_cannot_be_read_makes_the_limit_unknown_and_not_shallower() {
    let host = Host::new("intel-2s-icelake", |machine| {
        let file = format!("{CPU}/cpu0/cpuidle/state3/disable");
        for cpu in 0..8 {
            machine.write(&format!("{CPU}/cpu{cpu}/cpuidle/state3/disable"), "0\n");
        }
        machine.write(&file, "2\n");
    });
    let series = host.scrape();
    assert!(!series.contains_key("wakelag_cpuidle_max_enabled_exit_latency_seconds{cpu=\"0\"}"));
    assert_eq!(
        label(starting(&series, "wakelag_profile_info")[0].0, "idle_limit"),
        Some("C6@170us")
    );
}

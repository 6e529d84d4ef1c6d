//! Live interfaces make sense to the collectors, and say what the firmware's table says.

use crate::PROFILE;
use crate::acpi::{CPUS, EXIT_LATENCY_US, FREQUENCIES_MHZ};
use crate::room::{Room, test};
use crate::transcript::Transcript;

pub(crate) const ROOM: Room = Room {
    name: "sense",
    steps: STEPS,
    tests: &[
        test!(collectors_are_well_on_a_kernel_that_has_everything),
        test!(idle_states_are_those_of_the_firmware),
        test!(idle_states_are_entered_and_fill_the_time),
        test!(frequencies_are_those_of_the_firmware),
        test!(the_profile_is_what_the_kernel_started_with),
        test!(the_cpu_that_was_set_apart_at_boot_is_known),
        test!(the_cpu_that_has_no_tick_is_known)
            .since((6, 1), "Debian's kernel before is built without NO_HZ_FULL"),
    ],
};

const STEPS: &str = r#"
scrape first
sleep 2
clock first.later
scrape second
"#;

fn collectors_are_well_on_a_kernel_that_has_everything(lab: &Transcript) {
    assert_eq!(
        lab.text("modules"),
        "",
        "what loading modules complained of"
    );
    let first = lab.scrape("first");
    for collector in [
        "settings",
        "rapl",
        "cpuidle",
        "cpufreq",
        "schedstat",
        "stat",
        "softirqs",
        "interrupts",
        "pressure",
        "tasks",
    ] {
        let state =
            format!("wakelag_scrape_collector_state{{collector=\"{collector}\",state=\"ok\"}}");
        assert_eq!(
            first.value(&state),
            1.0,
            "{collector}: {:?}",
            first.troubles()
        );
    }
    assert_eq!(first.troubles(), []);
}

fn idle_states_are_those_of_the_firmware(lab: &Transcript) {
    let first = lab.scrape("first");
    let states = (1..)
        .zip(EXIT_LATENCY_US)
        .map(|(state, us)| (state, format!("C{state}"), us));
    for (state, name, us) in [(0, "POLL".to_owned(), 0)].into_iter().chain(states) {
        for cpu in 0..CPUS {
            let labels = format!("{{cpu=\"{cpu}\",state=\"{state}\",name=\"{name}\"}}");
            let of = |what: &str| first.value(&format!("wakelag_cpuidle_state_{what}{labels}"));
            assert_eq!(of("exit_latency_seconds"), f64::from(us) / 1e6, "{labels}");
            assert_eq!(
                of("target_residency_seconds"),
                f64::from(2 * us) / 1e6,
                "{labels}"
            );
            assert_eq!(of("disabled"), 0.0, "{labels}");
        }
    }
    let deepest = first.series("wakelag_cpuidle_max_enabled_exit_latency_seconds", "");
    assert!(
        deepest.iter().all(|(_, seconds)| *seconds == 250e-6) && deepest.len() == CPUS,
        "{deepest:?}"
    );
    let info = "wakelag_cpuidle_info{driver=\"acpi_idle\",governor=\"menu\"}";
    assert_eq!(first.value(info), 1.0);
}

fn frequencies_are_those_of_the_firmware(lab: &Transcript) {
    let first = lab.scrape("first");
    let hertz = FREQUENCIES_MHZ.map(|mhz| f64::from(mhz) * 1e6);
    for cpu in 0..CPUS {
        let of = |what: &str| first.value(&format!("wakelag_cpu_{what}{{cpu=\"{cpu}\"}}"));
        assert_eq!(of("frequency_max_hertz"), hertz[0]);
        assert_eq!(of("frequency_min_hertz"), hertz[2]);
        let states = first.series(
            "wakelag_cpu_frequency_state_seconds_total",
            &format!("cpu=\"{cpu}\""),
        );
        assert_eq!(states.len(), FREQUENCIES_MHZ.len(), "{states:?}");
    }
}

fn the_profile_is_what_the_kernel_started_with(lab: &Transcript) {
    let first = lab.scrape("first");
    assert_eq!(first.profile(), PROFILE);
    for (setting, value) in [
        ("governor", "schedutil"),
        ("scaling_driver", "acpi-cpufreq"),
        ("cpuidle_driver", "acpi_idle"),
    ] {
        let ratio = format!("wakelag_setting_ratio{{setting=\"{setting}\",value=\"{value}\"}}");
        assert_eq!(first.value(&ratio), 1.0);
    }
    let node = first.series("wakelag_node_info", "");
    let release = format!("release=\"{}\"", lab.text("kernel").trim());
    assert!(node[0].0.contains(&release), "{node:?}");
}

fn the_cpu_that_was_set_apart_at_boot_is_known(lab: &Transcript) {
    let first = lab.scrape("first");
    for cpu in 0..CPUS {
        let of = |what: &str| first.value(&format!("wakelag_cpu_{what}{{cpu=\"{cpu}\"}}"));
        let apart = f64::from(u8::from(cpu == 3));
        assert_eq!((of("isolated"), of("online")), (apart, 1.0));
    }
}

fn the_cpu_that_has_no_tick_is_known(lab: &Transcript) {
    let first = lab.scrape("first");
    for cpu in 0..CPUS {
        let nohz_full = first.value(&format!("wakelag_cpu_nohz_full{{cpu=\"{cpu}\"}}"));
        assert_eq!(nohz_full, f64::from(u8::from(cpu == 3)), "CPU {cpu}");
    }
}

fn idle_states_are_entered_and_fill_the_time(lab: &Transcript) {
    let (first, second) = (lab.scrape("first"), lab.scrape("second"));
    // A period counts when it ends, and the CPU that is left alone may sleep all the time.
    for cpu in 0..CPUS - 1 {
        let of_cpu = format!("cpu=\"{cpu}\"");
        let grown = |family: &str| {
            let states = first.series(family, &of_cpu);
            assert_eq!(states.len(), 1 + EXIT_LATENCY_US.len(), "{states:?}");
            let grown = states.iter().map(|(series, count)| {
                let grown = second.value(series) - count;
                assert!(grown >= 0.0, "{series}: {grown}");
                grown
            });
            grown.sum::<f64>()
        };
        let seconds = grown("wakelag_cpuidle_state_seconds_total");
        let clock_s = lab.uptime_s("first.later") + 1.0;
        assert!(seconds > 0.0 && seconds < clock_s, "CPU {cpu}: {seconds} s");
        assert!(
            grown("wakelag_cpuidle_state_entries_total") > 0.0,
            "CPU {cpu}"
        );
    }
}

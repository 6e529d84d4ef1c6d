//! Live interfaces make sense to the collectors, and say what the firmware's table says.

use crate::acpi::{CPUS, EXIT_LATENCY_US, FREQUENCIES_MHZ};
use crate::{PROFILE, lab};

pub(crate) const STEPS: &str = r#"
section kernel
uname -r
scrape first
"#;

#[test]
fn collectors_are_well_on_a_kernel_that_has_everything() {
    let first = lab().scrape("first");
    for collector in [
        "settings",
        "cpuidle",
        "cpufreq",
        "schedstat",
        "stat",
        "pressure",
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

#[test]
fn idle_states_are_those_of_the_firmware() {
    let first = lab().scrape("first");
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

#[test]
fn frequencies_are_those_of_the_firmware() {
    let first = lab().scrape("first");
    let hertz = FREQUENCIES_MHZ.map(|mhz| f64::from(mhz) * 1e6);
    for cpu in 0..CPUS {
        let of = |what: &str| first.value(&format!("wakelag_cpu_{what}{{cpu=\"{cpu}\"}}"));
        assert_eq!(of("frequency_max_hertz"), hertz[0]);
        assert_eq!(of("frequency_min_hertz"), hertz[2]);
        assert!(
            hertz.contains(&of("scaling_frequency_hertz")),
            "{}",
            of("scaling_frequency_hertz")
        );
        let states = first.series(
            "wakelag_cpu_frequency_state_seconds_total",
            &format!("cpu=\"{cpu}\""),
        );
        assert_eq!(states.len(), FREQUENCIES_MHZ.len(), "{states:?}");
    }
}

#[test]
fn the_profile_is_what_the_kernel_started_with() {
    let first = lab().scrape("first");
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
    let release = format!("release=\"{}\"", lab().text("kernel").trim());
    assert!(node[0].0.contains(&release), "{node:?}");
}

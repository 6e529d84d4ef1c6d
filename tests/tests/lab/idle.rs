//! An idle state is switched off and on again.

use crate::acpi::CPUS;
use crate::{PROFILE, lab};

pub(crate) const STEPS: &str = r#"
clock idle.begin
set_all 1 $cpu/cpu*/cpuidle/state3/disable
scrape idle.off
sleep 1
scrape idle.off.later
clock idle.end
set_all 0 $cpu/cpu*/cpuidle/state3/disable
scrape idle.on
sleep 1
scrape idle.on.later
"#;

const C2: &str = "state=\"2\",name=\"C2\"";
const C3: &str = "state=\"3\",name=\"C3\"";

#[test]
fn an_idle_state_that_is_switched_off_limits_the_exit_latency() {
    let off = lab().scrape("idle.off");
    assert_eq!(off.profile(), "schedutil/idle<=C2@40us/smt=on");
    let deepest = off.series("wakelag_cpuidle_max_enabled_exit_latency_seconds", "");
    assert!(
        deepest.iter().all(|(_, seconds)| *seconds == 40e-6) && deepest.len() == CPUS,
        "{deepest:?}"
    );
    let disabled = |state| off.series("wakelag_cpuidle_state_disabled", state);
    assert!(
        disabled(C3).iter().all(|(_, disabled)| *disabled == 1.0),
        "{:?}",
        disabled(C3)
    );
    assert!(
        disabled(C2).iter().all(|(_, disabled)| *disabled == 0.0),
        "{:?}",
        disabled(C2)
    );
    let limit = |name| {
        off.value(&format!(
            "wakelag_setting_ratio{{setting=\"idle_limit\",value=\"{name}\"}}"
        ))
    };
    assert_eq!((limit("C2"), limit("C3")), (1.0, 0.0));
}

#[test]
fn the_change_of_the_idle_limit_is_dated_and_no_other() {
    let lab = lab();
    let off = lab.scrape("idle.off");
    let changed = |what: &str| {
        off.value(&format!(
            "wakelag_setting_last_change_timestamp_seconds{{setting=\"{what}\"}}"
        ))
    };
    let during = lab.time_s("idle.begin")..lab.time_s("idle.end") + 1.0;
    assert!(
        during.contains(&changed("idle_limit")),
        "{} is not in {during:?}",
        changed("idle_limit")
    );
    assert_eq!(changed("governor"), 0.0);
    let profile = off.value("wakelag_profile_last_change_timestamp_seconds");
    assert!(during.contains(&profile), "{profile} is not in {during:?}");
}

#[test]
fn a_state_that_is_switched_off_is_not_entered_and_one_that_is_on_is() {
    let entered = |from: &str, to: &str, state: &str| {
        let sum = |scrape| -> f64 {
            let scrape = lab().scrape(scrape);
            // Not CPU 3, which may sleep all the time.
            let entries = scrape.series("wakelag_cpuidle_state_entries_total", state);
            entries
                .iter()
                .filter(|(series, _)| !series.contains("cpu=\"3\""))
                .map(|(_, count)| count)
                .sum()
        };
        sum(to) - sum(from)
    };
    assert_eq!(entered("idle.off", "idle.off.later", C3), 0.0);
    assert!(entered("idle.off", "idle.off.later", C2) > 0.0);
    assert!(entered("idle.on", "idle.on.later", C3) > 0.0);
    assert_eq!(lab().scrape("idle.on").profile(), PROFILE);
}

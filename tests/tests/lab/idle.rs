//! An idle state is switched off and on again.

use crate::PROFILE;
use crate::acpi::CPUS;
use crate::room::{Room, test};
use crate::transcript::Transcript;

pub(crate) const ROOM: Room = Room {
    name: "idle",
    steps: STEPS,
    tests: &[
        test!(an_idle_state_that_is_switched_off_limits_the_exit_latency),
        test!(the_change_of_the_idle_limit_is_dated_and_no_other),
        test!(a_state_that_is_switched_off_is_not_entered_and_one_that_is_on_is),
        test!(a_state_that_is_switched_off_on_one_cpu_makes_the_idle_limit_mixed),
    ],
};

const STEPS: &str = r#"
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
echo 1 >$cpu/cpu2/cpuidle/state3/disable
scrape idle.one.off
echo 0 >$cpu/cpu2/cpuidle/state3/disable
scrape idle.one.on
"#;

const C2: &str = "state=\"2\",name=\"C2\"";
const C3: &str = "state=\"3\",name=\"C3\"";

fn an_idle_state_that_is_switched_off_limits_the_exit_latency(lab: &Transcript) {
    let off = lab.scrape("idle.off");
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

fn the_change_of_the_idle_limit_is_dated_and_no_other(lab: &Transcript) {
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

fn a_state_that_is_switched_off_is_not_entered_and_one_that_is_on_is(lab: &Transcript) {
    // A period counts when it ends: the one a CPU was in when the state was switched off is still to come.
    assert!(most_entered(lab, "idle.off", "idle.off.later", C3) <= 1.0);
    assert!(most_entered(lab, "idle.off", "idle.off.later", C2) > 1.0);
    assert!(most_entered(lab, "idle.on", "idle.on.later", C3) > 1.0);
    assert_eq!(lab.scrape("idle.on").profile(), PROFILE);
}

fn a_state_that_is_switched_off_on_one_cpu_makes_the_idle_limit_mixed(lab: &Transcript) {
    let (before, off, on) = (
        lab.scrape("idle.on.later"),
        lab.scrape("idle.one.off"),
        lab.scrape("idle.one.on"),
    );
    assert_eq!(off.profile(), "schedutil/idle<=mixed/smt=on");
    assert_eq!(off.settings_changed_since(&before), ["idle_limit"]);
    assert_eq!(off.profile_changes_since(&before), 1.0);
    let limit = |name| {
        off.value(&format!(
            "wakelag_setting_ratio{{setting=\"idle_limit\",value=\"{name}\"}}"
        ))
    };
    assert_eq!((limit("C2"), limit("C3")), (0.25, 0.75));
    for cpu in 0..CPUS {
        let (disabled, deepest_s) = match cpu {
            2 => (1.0, 40e-6),
            _ => (0.0, 250e-6),
        };
        let series = format!("wakelag_cpuidle_state_disabled{{cpu=\"{cpu}\",{C3}}}");
        assert_eq!(off.value(&series), disabled, "{series}");
        let series = format!("wakelag_cpuidle_max_enabled_exit_latency_seconds{{cpu=\"{cpu}\"}}");
        assert_eq!(off.value(&series), deepest_s, "{series}");
    }
    assert_eq!(on.profile(), PROFILE);
    assert_eq!(on.settings_changed_since(&off), ["idle_limit"]);
    assert_eq!(on.profile_changes_since(&off), 1.0);
}

/// Entries of the CPU that entered `state` most often.
fn most_entered(lab: &Transcript, from: &str, to: &str, state: &str) -> f64 {
    let (from, to) = (lab.scrape(from), lab.scrape(to));
    let before = from.series("wakelag_cpuidle_state_entries_total", state);
    let entered = before
        .iter()
        .map(|(series, count)| to.value(series) - count);
    entered.fold(0.0, f64::max)
}

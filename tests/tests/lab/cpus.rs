//! CPUs are taken offline and brought back, one alone and by SMT.

use crate::PROFILE;
use crate::acpi::CPUS;
use crate::room::{Room, test};
use crate::transcript::{Scrape, Transcript};

pub(crate) const ROOM: Room = Room {
    name: "cpus",
    steps: STEPS,
    tests: &[
        test!(a_cpu_that_goes_offline_takes_its_series_along_and_brings_them_back),
        test!(counters_of_a_cpu_go_on_where_they_were_when_it_went),
        test!(smt_that_is_switched_off_is_another_profile_with_half_of_the_cpus),
    ],
};

const STEPS: &str = r#"
scrape cpus.before
echo 0 >$cpu/cpu2/online
scrape cpus.one.off
scrape cpus.one.off.again
echo 1 >$cpu/cpu2/online
scrape cpus.one.on
clock smt.begin
echo off >$cpu/smt/control
scrape smt.off
clock smt.end
echo on >$cpu/smt/control
scrape smt.on
"#;

/// Families that know of a CPU whether it is online or not.
const OF_ANY_CPU: [&str; 3] = [
    "wakelag_cpu_isolated",
    "wakelag_cpu_nohz_full",
    "wakelag_cpu_online",
];

fn a_cpu_that_goes_offline_takes_its_series_along_and_brings_them_back(lab: &Transcript) {
    let (before, on) = (lab.scrape("cpus.before"), lab.scrape("cpus.one.on"));
    let families = before.families_with("cpu=\"2\"");
    assert!(families.len() >= 10, "{families:?}");
    let online = |scrape: &Scrape| scrape.value("wakelag_cpu_online{cpu=\"2\"}");
    assert_eq!((online(&before), online(&on)), (1.0, 1.0));
    for off in ["cpus.one.off", "cpus.one.off.again"].map(|name| lab.scrape(name)) {
        // What is known of a CPU that is not there.
        let mut left = off.families_with("cpu=\"2\"");
        left.retain(|family| !OF_ANY_CPU.contains(family));
        assert_eq!(left, [""; 0]);
        assert_eq!(online(&off), 0.0);
        assert_eq!(off.families_with("cpu=\"1\""), families);
        assert_eq!(off.profile(), PROFILE);
    }
    assert_eq!(on.families_with("cpu=\"2\""), families);
    assert_eq!(on.settings_changed_since(&before), [""; 0]);
    assert_eq!(on.profile_changes_since(&before), 0.0, "no setting");
}

fn counters_of_a_cpu_go_on_where_they_were_when_it_went(lab: &Transcript) {
    let (before, on) = (lab.scrape("cpus.before"), lab.scrape("cpus.one.on"));
    for family in [
        "wakelag_cpuidle_state_entries_total",
        "wakelag_cpuidle_state_seconds_total",
        "wakelag_schedstat_running_seconds_total",
    ] {
        for (series, count) in before.series(family, "cpu=\"2\"") {
            assert!(
                on.value(series) >= count,
                "{series}: {count}, then {}",
                on.value(series)
            );
        }
    }
}

fn smt_that_is_switched_off_is_another_profile_with_half_of_the_cpus(lab: &Transcript) {
    let off = lab.scrape("smt.off");
    assert_eq!(off.profile(), "schedutil/idle<=C3@250us/smt=off");
    let cpus = off.series("wakelag_schedstat_running_seconds_total", "");
    let name = |cpu: u32| format!("wakelag_schedstat_running_seconds_total{{cpu=\"{cpu}\"}}");
    assert_eq!(
        cpus.iter().map(|(series, _)| *series).collect::<Vec<_>>(),
        [name(0), name(2)]
    );
    let changed = off.value("wakelag_setting_last_change_timestamp_seconds{setting=\"smt\"}");
    let during = lab.time_s("smt.begin")..lab.time_s("smt.end") + 1.0;
    assert!(during.contains(&changed), "{changed} is not in {during:?}");
    for cpu in 0..CPUS {
        let online = off.value(&format!("wakelag_cpu_online{{cpu=\"{cpu}\"}}"));
        assert_eq!(online, f64::from(u8::from(cpu % 2 == 0)), "CPU {cpu}");
    }
    let (before, on) = (lab.scrape("cpus.before"), lab.scrape("smt.on"));
    assert_eq!(off.settings_changed_since(&before), ["smt"]);
    assert_eq!(off.profile_changes_since(&before), 1.0);
    assert_eq!(on.profile(), PROFILE);
    assert_eq!(on.settings_changed_since(&off), ["smt"]);
    assert_eq!(on.profile_changes_since(&off), 1.0);
    assert_eq!(
        on.families_with("cpu=\"3\""),
        before.families_with("cpu=\"3\"")
    );
}

//! CPUs are taken offline and brought back, one alone and by SMT.

use crate::{PROFILE, lab};

pub(crate) const STEPS: &str = r#"
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

#[test]
fn a_cpu_that_goes_offline_takes_its_series_along_and_brings_them_back() {
    let lab = lab();
    let (before, on) = (lab.scrape("cpus.before"), lab.scrape("cpus.one.on"));
    let families = before.families_with("cpu=\"2\"");
    assert!(families.len() >= 10, "{families:?}");
    for off in ["cpus.one.off", "cpus.one.off.again"].map(|name| lab.scrape(name)) {
        assert_eq!(off.families_with("cpu=\"2\""), [""; 0]);
        assert_eq!(off.families_with("cpu=\"1\""), families);
        assert_eq!(off.profile(), PROFILE);
        assert_eq!(off.troubles(), []);
    }
    assert_eq!(on.families_with("cpu=\"2\""), families);
    assert_eq!(on.troubles(), []);
    let changes = "wakelag_profile_changes_total";
    assert_eq!(
        on.value(changes),
        before.value(changes),
        "a CPU is no setting"
    );
}

#[test]
fn counters_of_a_cpu_go_on_where_they_were_when_it_went() {
    let (before, on) = (lab().scrape("cpus.before"), lab().scrape("cpus.one.on"));
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

#[test]
fn smt_that_is_switched_off_is_another_profile_with_half_of_the_cpus() {
    let lab = lab();
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
    assert_eq!(off.troubles(), []);
    let on = lab.scrape("smt.on");
    assert_eq!(on.profile(), PROFILE);
    assert_eq!(on.troubles(), []);
    let before = lab.scrape("cpus.before");
    assert_eq!(
        on.families_with("cpu=\"3\""),
        before.families_with("cpu=\"3\"")
    );
}

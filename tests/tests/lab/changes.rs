//! The governor and the scheduler's statistics are switched.

use crate::acpi::CPUS;
use crate::{PROFILE, lab};

pub(crate) const STEPS: &str = r#"
scrape governor.before
clock governor.begin
set_all performance $cpu/cpufreq/policy*/scaling_governor
scrape governor.performance
clock governor.end
echo schedutil >$cpu/cpufreq/policy1/scaling_governor
scrape governor.mixed
set_all schedutil $cpu/cpufreq/policy*/scaling_governor
scrape governor.after

scrape schedstats.off
echo 1 >/proc/sys/kernel/sched_schedstats
sleep 1
scrape schedstats.on
echo 0 >/proc/sys/kernel/sched_schedstats
scrape schedstats.off.again
"#;

#[test]
fn a_governor_that_is_switched_makes_another_profile() {
    let lab = lab();
    let (before, after) = (
        lab.scrape("governor.before"),
        lab.scrape("governor.performance"),
    );
    assert_eq!(before.profile(), PROFILE);
    assert_eq!(after.profile(), "performance/idle<=C3@250us/smt=on");
    assert_eq!(
        after.value("wakelag_setting_ratio{setting=\"governor\",value=\"performance\"}"),
        1.0
    );
    assert_eq!(
        after.value("wakelag_setting_ratio{setting=\"governor\",value=\"schedutil\"}"),
        0.0
    );
    let changes = "wakelag_profile_changes_total";
    assert_eq!(after.value(changes), before.value(changes) + 1.0);
    let during = lab.time_s("governor.begin")..lab.time_s("governor.end") + 1.0;
    for changed in [
        "wakelag_profile_last_change_timestamp_seconds",
        "wakelag_setting_last_change_timestamp_seconds{setting=\"governor\"}",
    ] {
        assert!(
            during.contains(&after.value(changed)),
            "{changed} is not in {during:?}"
        );
    }
    let idle = "wakelag_setting_last_change_timestamp_seconds{setting=\"idle_limit\"}";
    assert_eq!(after.value(idle), before.value(idle));
}

#[test]
fn the_governor_performance_asks_for_the_highest_frequency() {
    let after = lab().scrape("governor.performance");
    for cpu in 0..CPUS {
        let of = |what: &str| after.value(&format!("wakelag_cpu_{what}{{cpu=\"{cpu}\"}}"));
        assert_eq!(of("scaling_frequency_hertz"), of("frequency_max_hertz"));
    }
}

#[test]
fn cpus_with_governors_of_their_own_are_mixed() {
    let mixed = lab().scrape("governor.mixed");
    assert_eq!(mixed.profile(), "mixed/idle<=C3@250us/smt=on");
    assert_eq!(
        mixed.value("wakelag_setting_ratio{setting=\"governor\",value=\"schedutil\"}"),
        0.25
    );
    assert_eq!(lab().scrape("governor.after").profile(), PROFILE);
}

#[test]
fn statistics_of_the_scheduler_come_and_go_with_the_switch() {
    let on = lab().scrape("schedstats.on");
    let counted = [
        "wakelag_schedstat_wakeups_total",
        "wakelag_schedstat_schedules_total",
        "wakelag_sched_domain_balances_total",
    ];
    for off in ["schedstats.off", "schedstats.off.again"].map(|name| lab().scrape(name)) {
        assert_eq!(off.value("wakelag_schedstat_enabled"), 0.0);
        for family in counted {
            assert_eq!(
                off.series(family, ""),
                [],
                "published as zeros that mean nothing"
            );
        }
        assert_eq!(
            off.series("wakelag_schedstat_running_seconds_total", "")
                .len(),
            CPUS
        );
        assert_eq!(off.troubles(), []);
    }
    assert_eq!(on.value("wakelag_schedstat_enabled"), 1.0);
    for family in counted {
        let series = on.series(family, "");
        assert!(
            series.iter().map(|(_, count)| count).sum::<f64>() > 0.0,
            "{family}: {series:?}"
        );
    }
    assert_eq!(on.troubles(), []);
}

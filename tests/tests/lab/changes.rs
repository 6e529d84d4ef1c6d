//! The governor and the scheduler's statistics are switched.

use crate::PROFILE;
use crate::acpi::CPUS;
use crate::frequency::{FREE, INTERRUPTS};
use crate::room::{Room, test};
use crate::transcript::Transcript;

pub(crate) const ROOM: Room = Room {
    name: "changes",
    steps: STEPS,
    tests: &[
        test!(a_governor_that_is_switched_makes_another_profile),
        test!(the_governor_performance_asks_for_the_highest_frequency).since(FREE, INTERRUPTS),
        test!(cpus_with_governors_of_their_own_are_mixed),
        test!(statistics_of_the_scheduler_come_and_go_with_the_switch),
    ],
};

const STEPS: &str = r#"
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

fn a_governor_that_is_switched_makes_another_profile(lab: &Transcript) {
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
    assert_eq!(after.profile_changes_since(&before), 1.0);
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
    assert_eq!(after.settings_changed_since(&before), ["governor"]);
}

fn the_governor_performance_asks_for_the_highest_frequency(lab: &Transcript) {
    let after = lab.scrape("governor.performance");
    for cpu in 0..CPUS {
        let of = |what: &str| after.value(&format!("wakelag_cpu_{what}{{cpu=\"{cpu}\"}}"));
        assert_eq!(of("scaling_frequency_hertz"), of("frequency_max_hertz"));
    }
}

fn cpus_with_governors_of_their_own_are_mixed(lab: &Transcript) {
    let mixed = lab.scrape("governor.mixed");
    assert_eq!(mixed.profile(), "mixed/idle<=C3@250us/smt=on");
    assert_eq!(
        mixed.value("wakelag_setting_ratio{setting=\"governor\",value=\"schedutil\"}"),
        0.25
    );
    let after = lab.scrape("governor.after");
    assert_eq!(after.profile(), PROFILE);
    assert_eq!(after.settings_changed_since(&mixed), ["governor"]);
}

fn statistics_of_the_scheduler_come_and_go_with_the_switch(lab: &Transcript) {
    let on = lab.scrape("schedstats.on");
    let counted = [
        "wakelag_schedstat_wakeups_total",
        "wakelag_schedstat_schedules_total",
        "wakelag_sched_domain_balances_total",
    ];
    for off in ["schedstats.off", "schedstats.off.again"].map(|name| lab.scrape(name)) {
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
    }
    assert_eq!(on.value("wakelag_schedstat_enabled"), 1.0);
    for family in counted {
        let series = on.series(family, "");
        assert!(
            series.iter().map(|(_, count)| count).sum::<f64>() > 0.0,
            "{family}: {series:?}"
        );
    }
    for scrape in [&on, &lab.scrape("schedstats.off.again")] {
        let before = lab.scrape("schedstats.off");
        assert_eq!(scrape.settings_changed_since(&before), [""; 0]);
        assert_eq!(scrape.profile_changes_since(&before), 0.0, "no setting");
    }
}

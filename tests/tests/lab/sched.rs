//! The scheduler's features and tunables are changed in debugfs.

use crate::room::{Room, test};
use crate::transcript::{Scrape, Transcript};

const NO_DIRECTORY: &str = "debugfs has the scheduler's directory since Linux 5.13";

pub(crate) const ROOM: Room = Room {
    name: "sched",
    steps: STEPS,
    tests: &[
        test!(a_feature_that_is_switched_is_another_value_of_the_setting)
            .since((5, 13), NO_DIRECTORY),
        test!(a_tunable_that_is_changed_is_shown_and_is_no_setting).since((5, 13), NO_DIRECTORY),
    ],
};

const STEPS: &str = r#"
sched=/sys/kernel/debug/sched
scrape features.before
if [ -d $sched ]; then
  echo NO_TTWU_QUEUE >$sched/features
  scrape features.off
  echo TTWU_QUEUE >$sched/features
  scrape features.on
  migration_cost=$(cat $sched/migration_cost_ns)
  echo 750000 >$sched/migration_cost_ns
  scrape tunables.changed
  echo $migration_cost >$sched/migration_cost_ns
fi
"#;

fn feature(scrape: &Scrape) -> f64 {
    scrape.value("wakelag_sched_feature_enabled{feature=\"TTWU_QUEUE\"}")
}

/// The digest of the features in force.
fn digest(scrape: &Scrape) -> String {
    let values = scrape.series("wakelag_setting_ratio", "setting=\"sched_features\"");
    let mut in_force = values.iter().filter(|(_, share)| *share == 1.0);
    let (Some((series, _)), None) = (in_force.next(), in_force.next()) else {
        panic!("not one value is in force: {values:?}");
    };
    series.split('"').nth(3).unwrap().to_owned()
}

fn a_feature_that_is_switched_is_another_value_of_the_setting(lab: &Transcript) {
    let [before, off, on] =
        ["features.before", "features.off", "features.on"].map(|name| lab.scrape(name));
    assert_eq!(
        (feature(&before), feature(&off), feature(&on)),
        (1.0, 0.0, 1.0)
    );
    assert_ne!(digest(&off), digest(&before));
    assert_eq!(digest(&on), digest(&before));
    for (after, before) in [(&off, &before), (&on, &off)] {
        assert_eq!(after.settings_changed_since(before), ["sched_features"]);
        // It is none of the parts a profile is made of.
        assert_eq!(after.profile_changes_since(before), 0.0);
    }
}

fn a_tunable_that_is_changed_is_shown_and_is_no_setting(lab: &Transcript) {
    let (before, changed) = (lab.scrape("features.on"), lab.scrape("tunables.changed"));
    let cost = "wakelag_sched_migration_cost_seconds";
    assert!(before.value(cost) != 750e-6, "{}", before.value(cost));
    assert_eq!(changed.value(cost), 750e-6);
    assert_eq!(changed.settings_changed_since(&before), [""; 0]);
}

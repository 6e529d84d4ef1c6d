//! `/proc/schedstat` in every version.

use super::machine::{Machine, Rising, at_most, largest};

const FILES: [&str; 2] = ["proc/schedstat", "proc/sys/kernel/sched_schedstats"];
/// Widened by the exporter.
const RISING: [&str; 13] = [
    "wakelag_schedstat_yields_total",
    "wakelag_schedstat_schedules_total",
    "wakelag_schedstat_schedules_idle_total",
    "wakelag_schedstat_wakeups_total",
    "wakelag_schedstat_wakeups_local_total",
    "wakelag_sched_domain_balances_total",
    "wakelag_sched_domain_balance_failed_total",
    "wakelag_sched_domain_pulled_total",
    "wakelag_sched_domain_pulled_hot_total",
    "wakelag_sched_domain_active_balances_total",
    "wakelag_sched_domain_wakeups_remote_total",
    "wakelag_sched_domain_moves_affine_total",
    "wakelag_sched_domain_moves_balance_total",
];
const AS_THEY_ARE: [(&str, f64); 4] = [
    ("wakelag_schedstat_running_seconds_total", 1e9),
    ("wakelag_schedstat_waiting_seconds_total", 1e9),
    ("wakelag_schedstat_timeslices_total", 1.0),
    ("wakelag_schedstat_version", 1.0),
];

thread_local! {
    static MACHINE: Machine = Machine::new(&FILES, &[]);
}

pub(crate) fn run(bytes: &[u8]) {
    let largest = largest(bytes);
    let mut rising = Rising::of(&RISING);
    MACHINE.with(|machine| {
        machine.scrape(&["schedstat"], &[], bytes, |scrape| {
            rising.check(scrape);
            for (family, per) in AS_THEY_ARE {
                for sample in scrape.samples(family) {
                    assert!(at_most(sample.value, per, largest), "{sample:?}");
                }
            }
        });
    });
}

//! Groups of processes and the files of their threads.

use super::machine::{Machine, NEXT, Rising, at_most, largest};

/// The first text of an input is what `--collector.tasks.group` is given beside the groups that are always there.
const FILES: [&str; 7] = [
    "proc/42/cgroup",
    "run/server.pid",
    "proc/42/task/42/stat",
    "proc/42/task/42/schedstat",
    "proc/42/task/42/sched",
    "proc/42/task/42/status",
    "proc/42/task/43/stat",
];
const INIT: &str = "1 (init) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
const RISING: [&str; 6] = [
    "wakelag_tasks_running_seconds_total",
    "wakelag_tasks_waiting_seconds_total",
    "wakelag_tasks_timeslices_total",
    "wakelag_tasks_migrations_total",
    "wakelag_tasks_context_switches_total",
    "wakelag_tasks_vanished_total",
];
const AS_THEY_ARE: [(&str, f64); 2] = [
    ("wakelag_tasks_slice_seconds", 1e9),
    ("wakelag_tasks_unread_threads", 1.0),
];

thread_local! {
    static MACHINE: Machine = Machine::new(&FILES, &[("proc/1/task/1/stat", INIT)]);
}

pub(crate) fn run(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == NEXT);
    let group = parts.next().unwrap_or_default();
    let (Ok(group), Some(input)) = (std::str::from_utf8(group), parts.next()) else {
        return;
    };
    let largest = largest(input);
    let mut rising = Rising::of(&RISING);
    MACHINE.with(|machine| {
        let pidfile = format!(
            "--collector.tasks.group=file:pidfile={}",
            machine.path("run/server.pid")
        );
        let group = format!("--collector.tasks.group={group}");
        let flags = [
            &*group,
            "--collector.tasks.group=unit:unit=postgresql.service",
            "--collector.tasks.preset=postgres",
            &pidfile,
        ];
        machine.scrape(&["tasks"], &flags, input, |scrape| {
            rising.check(scrape);
            for (family, per) in AS_THEY_ARE {
                for sample in scrape.samples(family) {
                    assert!(at_most(sample.value, per, largest), "{sample:?}");
                }
            }
            let threads = scrape.samples("wakelag_tasks_threads").iter();
            assert!(threads.map(|sample| sample.value).sum::<f64>() <= 2.0);
        });
    });
}

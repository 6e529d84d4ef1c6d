//! What the scheduler does: time tasks run and wait on each CPU, and what balancing and wake-ups move about.
//!
//! Source: `/proc/schedstat` (times in ns), `/proc/sys/kernel/sched_schedstats`.
//! Kernel: versions 15 (to 6.8), 16 (6.10) and 17 (6.14); Documentation/scheduler/sched-stats.rst.
//! Absent: a kernel without CONFIG_SCHEDSTATS.
//! Denied: nothing; it is world-readable.
//! Cost: B, grows with CPUs and scheduling domains.
//!
//! Running and waiting time and timeslices always count; all else counts only while kernel.sched_schedstats is 1, and is
//! left out while it is 0. The kernel's counts are 32 bits wide and are widened here.

mod domains;
pub mod file;
pub mod parse;

use std::collections::BTreeMap;

use toolkit::metric::{Metric, Sink};

use self::domains::Domains;
use self::file::Cpu;
use self::parse::schedstat;
use crate::collector::{Collector, Cost, Info};
use crate::parse::switch;
use crate::root::{Error, Kept, Root};
use crate::wide::Wide;

static RUNNING: Metric<1> = Metric::counter(
    "wakelag_schedstat_running_seconds_total",
    "Time tasks ran on the CPU, credited at context switches.",
    &["cpu"],
);
static WAITING: Metric<1> = Metric::counter(
    "wakelag_schedstat_waiting_seconds_total",
    "Time tasks waited in the CPU's run queue (run delay).",
    &["cpu"],
);
static TIMESLICES: Metric<1> = Metric::counter(
    "wakelag_schedstat_timeslices_total",
    "Timeslices run on the CPU.",
    &["cpu"],
);
static YIELDS: Metric<1> = Metric::counter(
    "wakelag_schedstat_yields_total",
    "Calls of sched_yield() on the CPU.",
    &["cpu"],
);
static SCHEDULES: Metric<1> = Metric::counter(
    "wakelag_schedstat_schedules_total",
    "Calls of schedule() on the CPU.",
    &["cpu"],
);
static SCHEDULES_IDLE: Metric<1> = Metric::counter(
    "wakelag_schedstat_schedules_idle_total",
    "Calls of schedule() that left the CPU idle.",
    &["cpu"],
);
static WAKEUPS: Metric<1> = Metric::counter(
    "wakelag_schedstat_wakeups_total",
    "Tasks woken up by this CPU.",
    &["cpu"],
);
static WAKEUPS_LOCAL: Metric<1> = Metric::counter(
    "wakelag_schedstat_wakeups_local_total",
    "Tasks woken up by this CPU on itself.",
    &["cpu"],
);
static VERSION: Metric<0> = Metric::gauge(
    "wakelag_schedstat_version",
    "Version of the format of /proc/schedstat.",
    &[],
);
static ENABLED: Metric<0> = Metric::gauge(
    "wakelag_schedstat_enabled",
    "Whether kernel.sched_schedstats is on; while it is off, only times and timeslices count.",
    &[],
);

/// schedstat collector.
#[derive(Debug, Default)]
pub struct Schedstat {
    files: Option<[Kept; 2]>,
    /// The version seen last.
    version: u64,
    counts: BTreeMap<u32, [Wide; 5]>,
    domains: Domains,
}

/// The scheduler's counters, and whether all of them count.
#[derive(Debug)]
pub struct Reading {
    schedstat: file::Schedstat,
    enabled: Option<bool>,
}

impl Collector for Schedstat {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "schedstat",
        about: "running and waiting time, wake-ups and balancing (/proc/schedstat)",
        default_on: true,
        cost: Cost::B,
        metrics: &[
            RUNNING.desc(),
            WAITING.desc(),
            TIMESLICES.desc(),
            YIELDS.desc(),
            SCHEDULES.desc(),
            SCHEDULES_IDLE.desc(),
            WAKEUPS.desc(),
            WAKEUPS_LOCAL.desc(),
            VERSION.desc(),
            ENABLED.desc(),
            domains::BALANCES.desc(),
            domains::BALANCE_FAILED.desc(),
            domains::PULLED.desc(),
            domains::PULLED_HOT.desc(),
            domains::ACTIVE_BALANCES.desc(),
            domains::WAKEUPS_REMOTE.desc(),
            domains::MOVES_AFFINE.desc(),
            domains::MOVES_BALANCE.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let [file, enabled] = self.files.get_or_insert_with(|| {
            ["schedstat", "sys/kernel/sched_schedstats"].map(|f| root.proc(f))
        });
        let schedstat = root.parse(file, schedstat)?;
        if schedstat.version != self.version && schedstat.version > parse::LAST_KNOWN_VERSION {
            let version = schedstat.version;
            tracing::warn!(
                version,
                "/proc/schedstat is newer than known here: its domains are left out"
            );
        }
        self.version = schedstat.version;
        let enabled = root.optional(root.parse(enabled, switch));
        Ok(Reading { schedstat, enabled })
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        let schedstat = &reading.schedstat;
        out.put(&VERSION, [], schedstat.version as f64);
        if let Some(enabled) = reading.enabled {
            out.put(&ENABLED, [], f64::from(u8::from(enabled)));
        }
        for cpu in &schedstat.cpus {
            let label = cpu.cpu.to_string();
            out.put(&RUNNING, [&label], cpu.running_ns as f64 / 1e9);
            out.put(&WAITING, [&label], cpu.waiting_ns as f64 / 1e9);
            out.put(&TIMESLICES, [&label], cpu.timeslices as f64);
            // Without the switch these are 0 and mean nothing.
            if reading.enabled != Some(false) {
                self.emit_counts(&label, cpu, out);
                self.domains.observe(cpu);
            }
        }
        if reading.enabled != Some(false) {
            self.domains.emit(out);
        }
    }
}

impl Schedstat {
    fn emit_counts(&mut self, label: &str, cpu: &Cpu, out: &mut Sink) {
        let counts = [
            (&YIELDS, cpu.yields),
            (&SCHEDULES, cpu.schedules),
            (&SCHEDULES_IDLE, cpu.schedules_idle),
            (&WAKEUPS, cpu.wakeups),
            (&WAKEUPS_LOCAL, cpu.wakeups_local),
        ];
        let wide = self.counts.entry(cpu.cpu).or_default();
        for ((metric, now), wide) in counts.into_iter().zip(wide) {
            out.put(metric, [label], wide.advance(now) as f64);
        }
    }
}

//! The threads of chosen groups of processes: how they are scheduled, and what it costs them.
//!
//! Source: `/proc/PID/task/TID/stat`, `schedstat` (ns), `sched` (slice in ns), `status`; `/proc/PID/cgroup`; pid files.
//! Kernel: 2.6; `se.slice` of `sched` since 6.8, as sched_getattr(2) has it since 6.12;
//! Documentation/scheduler/sched-stats.rst, Documentation/filesystems/proc.rst.
//! Absent: `schedstat` without CONFIG_SCHED_INFO, `sched` without CONFIG_SCHED_DEBUG; a group without processes is at 0.
//! Denied: `hidepid=` and other PID namespaces hide foreign processes; with `hidepid=1` they are listed and cannot be
//! read. What can be read is published.
//! Cost: B, a file a process of the host and four a thread of the groups: 12 us and 130 us on a slow guest. The number of
//! threads read is limited.
//!
//! Policies are told by thread, because that is how they are set: `chrt -b` on mysqld_safe does not reach a server that
//! runs already, `chrt -b -p` without `-a` reaches its main thread only.

mod account;
mod census;
mod file;
mod flags;
mod group;
mod roster;
mod thread;

use std::sync::Arc;

use toolkit::metric::{Metric, Sink};

use self::account::Account;
use self::census::{Census, Member};
pub use self::flags::Flags;
use self::group::Group;
use self::roster::Roster;
use self::thread::{Counts, POLICIES, Thread};
use crate::collector::{Collector, Configured, Cost, Info};
use crate::collectors;
use crate::root::{Error, Root};

static PROCESSES: Metric<1> = Metric::gauge(
    "wakelag_tasks_processes",
    "Processes of the group.",
    &["group"],
);
static THREADS: Metric<2> = Metric::gauge(
    "wakelag_tasks_threads",
    "Threads of the group by scheduling policy, of those that were read.",
    &["group", "policy"],
);
static UNREAD: Metric<1> = Metric::gauge(
    "wakelag_tasks_unread_threads",
    "Threads of the group that were left unread because of --collector.tasks.max-threads; all else is without them.",
    &["group"],
);
static RUNNING: Metric<1> = Metric::counter(
    "wakelag_tasks_running_seconds_total",
    "Time threads of the group ran, as seen at scrapes.",
    &["group"],
);
static WAITING: Metric<1> = Metric::counter(
    "wakelag_tasks_waiting_seconds_total",
    "Time threads of the group were ready to run and waited for a CPU (run delay).",
    &["group"],
);
static TIMESLICES: Metric<1> = Metric::counter(
    "wakelag_tasks_timeslices_total",
    "Times a thread of the group was put on a CPU.",
    &["group"],
);
static MIGRATIONS: Metric<1> = Metric::counter(
    "wakelag_tasks_migrations_total",
    "Times a thread of the group went on on another CPU.",
    &["group"],
);
static SWITCHES: Metric<2> = Metric::counter(
    "wakelag_tasks_context_switches_total",
    "Context switches of the group's threads: voluntary to wait, involuntary to make way.",
    &["group", "type"],
);
static ALLOWED: Metric<2> = Metric::gauge(
    "wakelag_tasks_allowed_cpus",
    "Number of CPUs a thread of the group may run on, the least and the most of all threads.",
    &["group", "bound"],
);
static SLICE: Metric<2> = Metric::gauge(
    "wakelag_tasks_slice_seconds",
    "Slice the fair scheduler gives a thread of the group, the least and the most of all threads.",
    &["group", "bound"],
);
static VANISHED: Metric<0> = Metric::counter(
    "wakelag_tasks_vanished_total",
    "Processes and threads that ended between being listed and being read.",
    &[],
);

/// tasks collector.
#[derive(Debug)]
pub struct Tasks {
    flags: Flags,
    /// The groups of the file that are in `roster`: others after a reload.
    of_file: Arc<[Group]>,
    roster: Roster,
    account: Account,
    vanished: u64,
}

/// One group as it is now, with what it has counted since the start.
#[derive(Debug, Default, Clone)]
pub struct Reading {
    processes: u64,
    threads: [u64; POLICIES.len()],
    unread: u64,
    allowed_cpus: Option<(u64, u64)>,
    slice_ns: Option<(u64, u64)>,
    counts: Counts,
}

impl Configured for Tasks {
    const ASKED_BY: Option<&'static str> = Some(flags::ASKED_BY);

    fn new(flags: &collectors::Flags) -> Self {
        let flags = flags.tasks.clone();
        let of_file = flags.of_file();
        let roster = Roster::of(flags.all(&of_file));
        Tasks {
            account: Account::of(roster.names.len()),
            flags,
            of_file,
            roster,
            vanished: 0,
        }
    }
}

impl Collector for Tasks {
    type Reading = Vec<Reading>;
    const INFO: &'static Info = &Info {
        name: "tasks",
        about: "threads of chosen processes: policies, time run and waited, migrations (/proc/PID/task); needs \
                --collector.tasks.group, .preset or .file, which switch it on",
        default_on: false,
        cost: Cost::B,
        metrics: &[
            PROCESSES.desc(),
            THREADS.desc(),
            UNREAD.desc(),
            RUNNING.desc(),
            WAITING.desc(),
            TIMESLICES.desc(),
            MIGRATIONS.desc(),
            SWITCHES.desc(),
            ALLOWED.desc(),
            SLICE.desc(),
            VANISHED.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        self.take_up_reload();
        let census = Census::take(root, &self.roster.groups)?;
        self.vanished += census.vanished;
        // One of them says it for all: with hidepid=1 it is every process of the host.
        let mut trouble = census.unknown;
        let mut readings = vec![Reading::default(); self.roster.names.len()];
        let mut left = self.flags.max_threads;
        self.account.begin();
        for member in &census.members {
            let name = self.roster.name_of[member.group];
            readings[name].processes += 1;
            match self.read_process(root, member, name, &mut left, &mut readings[name]) {
                Ok(()) => {}
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        let was_cut = readings.iter().any(|reading| reading.unread > 0);
        let counts = self.account.finish(was_cut);
        for (reading, counts) in readings.iter_mut().zip(counts) {
            reading.counts = *counts;
        }
        root.tolerate(trouble.map_or(Ok(()), Err));
        Ok(readings)
    }

    fn emit(&mut self, readings: Self::Reading, out: &mut Sink) {
        out.put(&VANISHED, [], self.vanished as f64);
        for (name, reading) in self.roster.names.iter().zip(&readings) {
            reading.emit(name, out);
        }
    }
}

impl Tasks {
    /// Goes on with the groups of a file that was read again; those whose name stays go on counting.
    fn take_up_reload(&mut self) {
        let of_file = self.flags.of_file();
        if !Arc::ptr_eq(&of_file, &self.of_file) && of_file != self.of_file {
            let roster = Roster::of(self.flags.all(&of_file));
            self.account.regroup(&roster.positions_in(&self.roster));
            self.roster = roster;
        }
        self.of_file = of_file;
    }

    /// Reads the threads of a process, `left` of them at most; the first error, after all have been read.
    fn read_process(
        &mut self,
        root: &Root,
        member: &Member,
        name: usize,
        left: &mut usize,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let pid = member.pid;
        if *left == 0 {
            self.account.keep(pid);
            reading.unread += member.threads;
            return Ok(());
        }
        let tids = match root.numbers(&format!("{pid}/task")) {
            Err(error) if error.errno() == Some(nix::errno::Errno::ENOENT) => Vec::new(),
            tids => tids?,
        };
        // A process whose threads are gone is gone.
        self.vanished += u64::from(tids.is_empty());
        let (tids, unread) = tids.split_at(tids.len().min(*left));
        if !unread.is_empty() {
            self.account.keep(pid);
            reading.unread += unread.len() as u64;
        }
        *left -= tids.len();
        let mut result = Ok(());
        for tid in tids {
            match Thread::read(root, pid, *tid) {
                Ok(Some(thread)) => {
                    self.account.credit(name, pid, *tid, &thread);
                    reading.see(&thread);
                }
                Ok(None) => self.vanished += 1,
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }
}

impl Reading {
    /// Takes in a thread of the group.
    fn see(&mut self, thread: &Thread) {
        self.threads[thread.policy] += 1;
        widen(&mut self.allowed_cpus, Some(thread.allowed_cpus));
        widen(&mut self.slice_ns, thread.slice_ns);
    }

    fn emit(&self, group: &str, out: &mut Sink) {
        out.put(&PROCESSES, [group], self.processes as f64);
        out.put(&UNREAD, [group], self.unread as f64);
        for (policy, threads) in POLICIES.iter().zip(self.threads) {
            out.put(&THREADS, [group, policy], threads as f64);
        }
        let counts = &self.counts;
        for (metric, count, unit) in [
            (&RUNNING, counts.running_ns, 1e9),
            (&WAITING, counts.waiting_ns, 1e9),
            (&TIMESLICES, counts.timeslices, 1.0),
            (&MIGRATIONS, counts.migrations, 1.0),
        ] {
            if let Some(count) = count {
                out.put(metric, [group], count as f64 / unit);
            }
        }
        let switches = [
            ("voluntary", counts.voluntary),
            ("involuntary", counts.involuntary),
        ];
        for (kind, count) in switches {
            if let Some(count) = count {
                out.put(&SWITCHES, [group, kind], count as f64);
            }
        }
        let bounds = [
            (&ALLOWED, self.allowed_cpus, 1.0),
            (&SLICE, self.slice_ns, 1e9),
        ];
        for (metric, range, unit) in bounds {
            if let Some((min, max)) = range {
                out.put(metric, [group, "min"], min as f64 / unit);
                out.put(metric, [group, "max"], max as f64 / unit);
            }
        }
    }
}

/// Makes a range hold `value` too.
fn widen(range: &mut Option<(u64, u64)>, value: Option<u64>) {
    if let Some(value) = value {
        let (min, max) = range.unwrap_or((value, value));
        *range = Some((min.min(value), max.max(value)));
    }
}

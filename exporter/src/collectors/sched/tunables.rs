//! The tunables: where each of them is, and in which unit.

use toolkit::metric::Metric;

use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Root, absent};

pub(super) static BASE_SLICE: Metric<0> = Metric::gauge(
    "wakelag_sched_base_slice_seconds",
    "Time a task of the fair scheduler runs before another one of equal standing may take its place.",
    &[],
);
pub(super) static LATENCY: Metric<0> = Metric::gauge(
    "wakelag_sched_latency_seconds",
    "Time in which the fair scheduler before Linux 6.6 lets every ready task run once.",
    &[],
);
pub(super) static MIN_GRANULARITY: Metric<0> = Metric::gauge(
    "wakelag_sched_min_granularity_seconds",
    "Time a task of the fair scheduler before Linux 6.6 runs at least.",
    &[],
);
pub(super) static WAKEUP_GRANULARITY: Metric<0> = Metric::gauge(
    "wakelag_sched_wakeup_granularity_seconds",
    "Lead a task that wakes up needs, before Linux 6.6, to take the place of the one that runs.",
    &[],
);
pub(super) static MIGRATION_COST: Metric<0> = Metric::gauge(
    "wakelag_sched_migration_cost_seconds",
    "Time after it ran for which a task counts as cache-hot and is not moved to another CPU.",
    &[],
);
pub(super) static MIGRATE_TASKS: Metric<0> = Metric::gauge(
    "wakelag_sched_migrate_tasks",
    "The most tasks one balancing of load moves, with interrupts off.",
    &[],
);
pub(super) static RT_RUNTIME: Metric<0> = Metric::gauge(
    "wakelag_sched_rt_runtime_seconds",
    "Time real-time tasks may run in a period; absent where that is not limited.",
    &[],
);
pub(super) static RT_PERIOD: Metric<0> = Metric::gauge(
    "wakelag_sched_rt_period_seconds",
    "Period of the limit of real-time tasks.",
    &[],
);
pub(super) static BANDWIDTH_SLICE: Metric<0> = Metric::gauge(
    "wakelag_sched_cfs_bandwidth_slice_seconds",
    "Time a CPU draws at once from the quota of a control group (cpu.max).",
    &[],
);
pub(super) static AUTOGROUP: Metric<0> = Metric::gauge(
    "wakelag_sched_autogroup_enabled",
    "Whether tasks share CPUs by session rather than each for itself.",
    &[],
);
pub(super) static NUMA_BALANCING: Metric<0> = Metric::gauge(
    "wakelag_sched_numa_balancing_enabled",
    "Whether the kernel moves memory and tasks between NUMA nodes by page faults it provokes.",
    &[],
);

/// A tunable of the scheduler.
#[derive(Debug)]
pub(super) struct Tunable {
    pub(super) metric: &'static Metric<0>,
    /// Names below `/proc/sys/kernel` and `/sys/kernel/debug/sched`.
    sysctl: Option<&'static str>,
    debugfs: Option<&'static str>,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Nanoseconds,
    Microseconds,
    /// Microseconds, and -1 for no limit.
    Limit,
    Number,
    /// 0 is off, everything else is on.
    Switch,
}

/// All of them. What a kernel has in both places it has under `/proc/sys` for everyone.
pub(super) static TUNABLES: [Tunable; 11] = [
    in_debugfs(&BASE_SLICE, "base_slice_ns"),
    moved(&LATENCY, "sched_latency_ns", "latency_ns"),
    moved(
        &MIN_GRANULARITY,
        "sched_min_granularity_ns",
        "min_granularity_ns",
    ),
    moved(
        &WAKEUP_GRANULARITY,
        "sched_wakeup_granularity_ns",
        "wakeup_granularity_ns",
    ),
    moved(
        &MIGRATION_COST,
        "sched_migration_cost_ns",
        "migration_cost_ns",
    ),
    Tunable {
        unit: Unit::Number,
        ..moved(&MIGRATE_TASKS, "sched_nr_migrate", "nr_migrate")
    },
    sysctl(&RT_RUNTIME, "sched_rt_runtime_us", Unit::Limit),
    sysctl(&RT_PERIOD, "sched_rt_period_us", Unit::Microseconds),
    sysctl(
        &BANDWIDTH_SLICE,
        "sched_cfs_bandwidth_slice_us",
        Unit::Microseconds,
    ),
    sysctl(&AUTOGROUP, "sched_autogroup_enabled", Unit::Switch),
    sysctl(&NUMA_BALANCING, "numa_balancing", Unit::Switch),
];

const fn in_debugfs(metric: &'static Metric<0>, debugfs: &'static str) -> Tunable {
    Tunable {
        metric,
        sysctl: None,
        debugfs: Some(debugfs),
        unit: Unit::Nanoseconds,
    }
}

/// From `/proc/sys` to debugfs in Linux 5.13.
const fn moved(metric: &'static Metric<0>, sysctl: &'static str, debugfs: &'static str) -> Tunable {
    Tunable {
        sysctl: Some(sysctl),
        ..in_debugfs(metric, debugfs)
    }
}

const fn sysctl(metric: &'static Metric<0>, sysctl: &'static str, unit: Unit) -> Tunable {
    Tunable {
        metric,
        sysctl: Some(sysctl),
        debugfs: None,
        unit,
    }
}

impl Tunable {
    fn places(&self, root: &Root) -> impl Iterator<Item = Kept> {
        let sysctl = self
            .sysctl
            .map(|name| root.proc(&format!("sys/kernel/{name}")));
        let debugfs = self
            .debugfs
            .map(|name| root.sys(&format!("kernel/debug/sched/{name}")));
        sysctl.into_iter().chain(debugfs)
    }
}

/// The files this kernel has, as found at the first look: no kernel gets or loses one while it runs.
#[derive(Debug, Default)]
pub(super) struct Tunables(Option<Vec<Option<Kept>>>);

impl Tunables {
    /// The value of each of [`TUNABLES`], nothing for those that are not there or not for this user.
    pub(super) fn read(&mut self, root: &Root) -> Vec<Option<f64>> {
        let files = self.0.get_or_insert_with(|| {
            let find =
                |tunable: &Tunable| tunable.places(root).find_map(|file| is_there(root, file));
            TUNABLES.iter().map(find).collect()
        });
        let files = TUNABLES.iter().zip(files);
        files
            .map(|(tunable, file)| {
                let value = root.parse(file.as_mut()?, |text| tunable.unit.parse(text));
                root.permitted(value).flatten()
            })
            .collect()
    }
}

fn is_there(root: &Root, mut file: Kept) -> Option<Kept> {
    let gone = |error: &Error| error.errno().is_some_and(absent);
    let read = root.parse(&mut file, |_| Ok(()));
    (!read.is_err_and(|error| gone(&error))).then_some(file)
}

impl Unit {
    fn parse(self, text: &str) -> Result<Option<f64>, ParseError> {
        if self == Unit::Limit && text.trim() == "-1" {
            return Ok(None);
        }
        let number = parse::number(text)?;
        Ok(Some(match self {
            Unit::Nanoseconds => number as f64 / 1e9,
            Unit::Microseconds | Unit::Limit => number as f64 / 1e6,
            Unit::Number => number as f64,
            Unit::Switch => f64::from(u8::from(number != 0)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tunable_has_its_unit() {
        assert_eq!(Unit::Nanoseconds.parse("2800000\n"), Ok(Some(0.0028)));
        assert_eq!(Unit::Microseconds.parse("5000\n"), Ok(Some(0.005)));
        assert_eq!(Unit::Number.parse("32\n"), Ok(Some(32.0)));
        // numa_balancing is a bit mask: 2 is memory tiering.
        assert_eq!(Unit::Switch.parse("2\n"), Ok(Some(1.0)));
        assert_eq!(Unit::Switch.parse("0\n"), Ok(Some(0.0)));
    }

    #[test]
    fn a_limit_of_minus_one_is_none_and_elsewhere_an_error() {
        assert_eq!(Unit::Limit.parse("-1\n"), Ok(None));
        assert_eq!(Unit::Limit.parse("950000\n"), Ok(Some(0.95)));
        assert!(Unit::Limit.parse("-2\n").is_err());
        assert!(Unit::Microseconds.parse("-1\n").is_err());
        assert!(Unit::Number.parse("").is_err());
    }
}

//! What the scheduler works with: its tunables, and the CPUs it may use.
//!
//! Source: `/proc/sys/kernel/sched_*_{ns,us}`, `sched_nr_migrate`, `sched_autogroup_enabled`, `numa_balancing`, and since
//! Linux 5.13 for some of them `/sys/kernel/debug/sched/*_ns` and `nr_migrate`;
//! `/sys/devices/system/cpu/{present,online,isolated,nohz_full}`.
//! Kernel: `base_slice_ns` 6.6, `latency_ns` and the granularities until then; Documentation/scheduler/sched-debug.rst,
//! Documentation/admin-guide/sysctl/kernel.rst.
//! Absent: the tunables that a kernel does not have; a limit of real-time tasks that is switched off (-1).
//! Denied: debugfs is for root only, and lockdown closes it to root too; the collector is well without.
//! Cost: A, one read a tunable. `debug/sched/debug` has the same figures in its first lines, but prints every task.

mod tunables;

use toolkit::metric::{Metric, Roll, Sink};

use self::tunables::{TUNABLES, Tunables};
use crate::collector::{Collector, Cost, Info};
use crate::cpus;
use crate::parse;
use crate::root::{Error, Kept, Root};

static ONLINE: Metric<1> = Metric::gauge(
    "wakelag_cpu_online",
    "Whether the CPU is online, of those that are present.",
    &["cpu"],
)
.rolled(Roll::Count);
static ISOLATED: Metric<1> = Metric::gauge(
    "wakelag_cpu_isolated",
    "Whether the scheduler keeps tasks off the CPU unless they are bound to it (isolcpus).",
    &["cpu"],
)
.rolled(Roll::Count);
static NOHZ_FULL: Metric<1> = Metric::gauge(
    "wakelag_cpu_nohz_full",
    "Whether the CPU stops its tick while it runs a single task (nohz_full).",
    &["cpu"],
)
.rolled(Roll::Count);

/// sched collector.
#[derive(Debug, Default)]
pub struct Sched {
    files: Option<Files>,
    tunables: Tunables,
}

#[derive(Debug)]
struct Files {
    online: Kept,
    present: Kept,
    isolated: Kept,
    nohz_full: Kept,
}

/// What is set now.
#[derive(Debug)]
pub struct Reading {
    /// In the units of the metrics, in the order of [`TUNABLES`].
    tunables: Vec<Option<f64>>,
    present: Vec<u32>,
    online: Vec<u32>,
    isolated: Option<Vec<u32>>,
    nohz_full: Option<Vec<u32>>,
}

impl Collector for Sched {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "sched",
        about: "tunables of the scheduler, CPUs online and isolated (/proc/sys/kernel, /sys/kernel/debug/sched)",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            tunables::BASE_SLICE.desc(),
            tunables::LATENCY.desc(),
            tunables::MIN_GRANULARITY.desc(),
            tunables::WAKEUP_GRANULARITY.desc(),
            tunables::MIGRATION_COST.desc(),
            tunables::MIGRATE_TASKS.desc(),
            tunables::RT_RUNTIME.desc(),
            tunables::RT_PERIOD.desc(),
            tunables::BANDWIDTH_SLICE.desc(),
            tunables::AUTOGROUP.desc(),
            tunables::NUMA_BALANCING.desc(),
            ONLINE.desc(),
            ISOLATED.desc(),
            NOHZ_FULL.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let files = self.files.get_or_insert_with(|| Files::new(root));
        let online = root.parse(&mut files.online, parse::cpu_list)?;
        let list = |file| root.optional(root.parse(file, parse::cpu_list));
        let present = list(&mut files.present).filter(|cpus| !cpus.is_empty());
        Ok(Reading {
            tunables: self.tunables.read(root),
            present: present.unwrap_or_else(|| online.clone()),
            isolated: list(&mut files.isolated),
            nohz_full: list(&mut files.nohz_full),
            online,
        })
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        for (tunable, value) in TUNABLES.iter().zip(&reading.tunables) {
            if let Some(value) = value {
                out.put(tunable.metric, [], *value);
            }
        }
        for cpu in &reading.present {
            let label = cpu.to_string();
            let mut put = |metric, cpus: Option<&Vec<u32>>| {
                if let Some(cpus) = cpus {
                    let is_in = cpus.binary_search(cpu).is_ok();
                    out.put(metric, [&label], f64::from(u8::from(is_in)));
                }
            };
            put(&ONLINE, Some(&reading.online));
            put(&ISOLATED, reading.isolated.as_ref());
            put(&NOHZ_FULL, reading.nohz_full.as_ref());
        }
    }
}

impl Files {
    fn new(root: &Root) -> Self {
        let cpu = |file: &str| root.sys(&format!("devices/system/cpu/{file}"));
        Files {
            online: cpus::online_file(root),
            present: cpu("present"),
            isolated: cpu("isolated"),
            nohz_full: cpu("nohz_full"),
        }
    }
}

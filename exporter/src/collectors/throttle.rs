//! How often, and for how long, CPUs ran slower because they were too hot.
//!
//! Source: `/sys/devices/system/cpu/cpuN/thermal_throttle/{core,package}_throttle_count`,
//! `{core,package}_throttle_total_time_ms` (ms); `topology/{physical_package_id,core_id}`.
//! Kernel: 2.6, the times since 5.7; arch/x86/include/asm/therm_throt.h.
//! Absent: anything but an Intel CPU on hardware; container runtimes hide the directory.
//! Denied: nothing; all of it is world-readable.
//! Cost: A, four reads a CPU.
//!
//! The interrupt of a package, or of a core, goes to every CPU of it and each keeps its own count: what is published is
//! the most of them, never the sum. While a CPU is offline its directory is gone: what it had counted last stands.

use std::collections::BTreeMap;

use toolkit::metric::{Metric, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::cpus;
use crate::parse;
use crate::root::{Dir, Error, Kept, Root};

static CORE_THROTTLES: Metric<2> = Metric::counter(
    "wakelag_cpu_core_throttles_total",
    "Times the core was throttled because it was too hot.",
    &["package", "core"],
);
static CORE_SECONDS: Metric<2> = Metric::counter(
    "wakelag_cpu_core_throttle_seconds_total",
    "Time the core was throttled because it was too hot.",
    &["package", "core"],
);
static PACKAGE_THROTTLES: Metric<1> = Metric::counter(
    "wakelag_cpu_package_throttles_total",
    "Times the package was throttled because it was too hot.",
    &["package"],
);
static PACKAGE_SECONDS: Metric<1> = Metric::counter(
    "wakelag_cpu_package_throttle_seconds_total",
    "Time the package was throttled because it was too hot.",
    &["package"],
);

/// What a CPU counts, in the order of [`Counts`].
const FILES: [&str; 4] = [
    "core_throttle_count",
    "core_throttle_total_time_ms",
    "package_throttle_count",
    "package_throttle_total_time_ms",
];

/// Throttles of the core, its ms, those of the package, its ms.
type Counts = [Option<u64>; FILES.len()];

/// Throttling collector.
#[derive(Debug, Default)]
pub struct Throttle {
    online: Option<Kept>,
    scanned: Option<Vec<u32>>,
    /// All CPUs that were online once.
    cpus: BTreeMap<u32, Cpu>,
}

/// A CPU with what it counted last.
#[derive(Debug)]
struct Cpu {
    package: String,
    core: String,
    /// Not there while it is offline.
    files: [Option<Kept>; FILES.len()],
    last: Counts,
}

/// Package, core and counts of each CPU.
pub type Reading = Vec<(String, String, Counts)>;

impl Collector for Throttle {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "throttle",
        about: "thermal throttling by core and package (/sys/devices/system/cpu/cpuN/thermal_throttle)",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            CORE_THROTTLES.desc(),
            CORE_SECONDS.desc(),
            PACKAGE_THROTTLES.desc(),
            PACKAGE_SECONDS.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let online = self.online.get_or_insert_with(|| cpus::online_file(root));
        let online = root.parse(online, parse::cpu_list)?;
        if self.scanned.as_ref() != Some(&online) {
            let before = root.tolerated();
            self.scan(root, &online);
            self.scanned = (root.tolerated() == before).then_some(online);
        }
        if self.cpus.is_empty() {
            return Err(root.missing("devices/system/cpu/cpu0/thermal_throttle"));
        }
        for cpu in self.cpus.values_mut() {
            for (file, last) in cpu.files.iter_mut().zip(&mut cpu.last) {
                let Some(file) = file else { continue };
                let count = root.optional(root.parse(file, parse::number));
                *last = count.or(*last);
            }
        }
        let cpus = self.cpus.values();
        let readings = cpus.map(|cpu| (cpu.package.clone(), cpu.core.clone(), cpu.last));
        Ok(readings.collect())
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        for ((package, core), counts) in most(&reading, |(package, core, _)| (package, core)) {
            let [throttles, ms, ..] = counts;
            let labels = [package.as_str(), core.as_str()];
            if let Some(throttles) = throttles {
                out.put(&CORE_THROTTLES, labels, throttles as f64);
            }
            if let Some(ms) = ms {
                out.put(&CORE_SECONDS, labels, ms as f64 / 1e3);
            }
        }
        for (package, counts) in most(&reading, |(package, ..)| package) {
            let [.., throttles, ms] = counts;
            if let Some(throttles) = throttles {
                out.put(&PACKAGE_THROTTLES, [package], throttles as f64);
            }
            if let Some(ms) = ms {
                out.put(&PACKAGE_SECONDS, [package], ms as f64 / 1e3);
            }
        }
    }
}

impl Throttle {
    /// Looks for the files of the CPUs that are online, and keeps what the others had counted.
    fn scan(&mut self, root: &Root, online: &[u32]) {
        for cpu in self.cpus.values_mut() {
            cpu.files = Default::default();
        }
        for number in online {
            let Some(found) = root.optional(Cpu::find(root, *number)) else {
                continue;
            };
            let last = self.cpus.get(number).map_or(found.last, |known| known.last);
            self.cpus.insert(*number, Cpu { last, ..found });
        }
    }
}

impl Cpu {
    fn find(root: &Root, number: u32) -> Result<Self, Error> {
        let base = format!("devices/system/cpu/cpu{number}");
        let dir = Dir::list(root, format!("{base}/thermal_throttle"))?;
        let files = FILES.map(|file| dir.file(root, file));
        if files.iter().all(Option::is_none) {
            // Container runtimes lay an empty directory over it.
            return Err(root.missing(&format!("{base}/thermal_throttle/{}", FILES[0])));
        }
        let id = |file| root.parse_once(root.sys(&format!("{base}/topology/{file}")), parse::word);
        Ok(Cpu {
            package: id("physical_package_id")?,
            core: id("core_id")?,
            files,
            last: Counts::default(),
        })
    }
}

/// The most of each count among the CPUs with the same key.
fn most<'r, K: Ord>(
    reading: &'r Reading,
    key: impl Fn(&'r (String, String, Counts)) -> K,
) -> BTreeMap<K, Counts> {
    let mut most = BTreeMap::<K, Counts>::new();
    for cpu in reading {
        let counts = most.entry(key(cpu)).or_default();
        for (most, count) in counts.iter_mut().zip(cpu.2) {
            *most = count.max(*most);
        }
    }
    most
}

//! Energy by RAPL domain, and what power it may draw.
//!
//! Source: `/sys/class/powercap/ZONE/{name,energy_uj (uJ),max_energy_range_uj (uJ)}`, or the PMU `power`
//! (`/sys/bus/event_source/devices/power/events/energy-*`, in units of their `.scale`); of power limits
//! `/sys/class/powercap/ZONE/{enabled,constraint_K_name,constraint_K_power_limit_uw (uW),constraint_K_time_window_us (us)}`.
//! Kernel: 3.13, the PMU 3.14; Documentation/power/powercap/powercap.rst.
//! Absent: no driver, as in virtual machines. AMD has no limits.
//! Denied: `energy_uj` is readable by root only since Linux 5.10; CAP_DAC_READ_SEARCH is enough. For the PMU see
//! [`crate::perf`].
//! Cost: D. Of powercap's MSR driver one wake-up a package and zone, of its MMIO and TPMI drivers none; of the PMU one a
//! package. Limits are read once, when a zone is found. Zones of other control types (arm-scmi, dtpm) talk to firmware and
//! are not read.
//!
//! Energy counters are 32 bits wide and wrap every few minutes under load (a 400 W AMD package in 160 s): what is
//! published is the sum since the start, corrected by `max_energy_range_uj`, or by the kernel in the PMU.

mod limits;
mod meter;
mod perf;
mod powercap;
mod source;

use toolkit::metric::{Metric, Sample, Sink};

use self::limits::Limits;
use self::meter::Meters;
use self::perf::Power;
use self::powercap::Powercap;
pub use self::source::{Flags, Source};
use crate::collector::{Collector, Configured, Cost, Info};
use crate::collectors;
use crate::perf::{Kernel, Perf};
use crate::root::{Error, Root};

/// Energy of each zone.
pub static ENERGY: Metric<5> = Metric::counter(
    "wakelag_rapl_energy_joules_total",
    "Energy spent in the RAPL zone since the exporter's start; package holds core and uncore, psys holds packages, and core \
     is one core only on AMD.",
    &["control_type", "zone", "name", "package", "die"],
);
static WRAPS: Metric<5> = Metric::counter(
    "wakelag_rapl_wraps_total",
    "Times the zone's hardware counter wrapped around since the exporter's start.",
    &["control_type", "zone", "name", "package", "die"],
);

/// Control type, zone, name, package and die.
type Labels = [String; 5];

/// RAPL collector.
#[derive(Debug)]
pub struct Rapl {
    source: Source,
    /// What energy came from last, if from anything.
    chosen: Option<Source>,
    powercap: Powercap,
    meters: Meters,
    power: Power,
}

/// The driver whose zones cost no wake-up. Machines that have it have no MSR driver.
const TPMI: &str = "module/intel_rapl_tpmi";

/// Energy of one zone since the start.
#[derive(Debug)]
struct Energy {
    labels: Labels,
    joules: f64,
    /// None where the kernel has corrected them.
    wraps: Option<u64>,
}

/// What was read of all zones.
#[derive(Debug)]
pub struct Reading {
    energy: Vec<Energy>,
    limits: Vec<(Labels, Limits)>,
}

impl Collector for Rapl {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "rapl",
        about: "energy by package, DRAM and other domains; at the start their power limits (/sys/class/powercap, perf)",
        default_on: true,
        cost: Cost::D,
        metrics: &[
            ENERGY.desc(),
            WRAPS.desc(),
            limits::LIMIT.desc(),
            limits::WINDOW.desc(),
            limits::ENABLED.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        let found = self.powercap.look(root, &mut self.meters);
        let has_limits = found.is_ok();
        let energy = match self.source {
            Source::Powercap => found.map(|()| self.powercap.energy(root, &mut self.meters))?,
            Source::Perf => self.power.energy(root)?,
            Source::Auto => self.cheapest(root, found)?,
        };
        let limits = match has_limits {
            true => self.powercap.limits(root),
            false => Vec::new(),
        };
        Ok(Reading { energy, limits })
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for zone in &reading.energy {
            let labels = zone.labels.each_ref().map(String::as_str);
            out.put(&ENERGY, labels, zone.joules);
            if let Some(wraps) = zone.wraps {
                out.put(&WRAPS, labels, wraps as f64);
            }
        }
        for (labels, limits) in &reading.limits {
            limits.emit(labels, out);
        }
    }
}

impl Configured for Rapl {
    const ASKED_BY: Option<&'static str> = None;

    fn new(flags: &collectors::Flags) -> Self {
        Rapl::with(flags.rapl.source, Box::new(Kernel))
    }
}

impl Rapl {
    fn with(source: Source, perf: Box<dyn Perf>) -> Self {
        Rapl {
            source,
            chosen: None,
            powercap: Powercap::default(),
            meters: Meters::default(),
            power: Power::new(perf),
        }
    }

    /// Energy from one source, never from two: perf's group is one wake-up a package where powercap's files are one a zone,
    /// unless powercap costs none. What may be read of them stays the source as long as it gives anything, so that series
    /// do not change their labels. Whether powercap has been `found` says what is wrong if neither does.
    fn cheapest(&mut self, root: &Root, found: Result<(), Error>) -> Result<Vec<Energy>, Error> {
        let powercap_first = match self.chosen {
            Some(chosen) => chosen == Source::Powercap,
            None => root.names(TPMI).is_ok(),
        };
        let mut order = [Source::Perf, Source::Powercap];
        if powercap_first {
            order.reverse();
        }
        for source in order {
            let energy = match source {
                Source::Perf => self.living_power(root),
                _ if found.is_ok() => self.powercap.energy(root, &mut self.meters),
                _ => Vec::new(),
            };
            if !energy.is_empty() {
                self.chosen = Some(source);
                return Ok(energy);
            }
        }
        found.map(|()| Vec::new())
    }

    /// What perf gives. A PMU that counts nothing is closed and not asked again: it would be waking up CPUs for nothing.
    fn living_power(&mut self, root: &Root) -> Vec<Energy> {
        if self.power.is_dead() {
            return Vec::new();
        }
        let energy = self.power.energy(root);
        if self.power.is_dead() {
            self.power.close();
        }
        energy.unwrap_or_default()
    }
}

/// Whether a sample of [`ENERGY`] may be added up with its like: the MMIO driver shows the same counters as the MSR
/// driver, and domains inside a package, such as `core`, are in it already.
pub fn counts_once(sample: Sample<'_>, all: &[Sample<'_>]) -> bool {
    let name = sample.label("name").unwrap_or_default();
    let outermost = name.starts_with("package-") || name == "dram" || name.starts_with("psys");
    let is_msr = |sample: Sample<'_>| sample.label("control_type") == Some("intel-rapl");
    let twin = |other: &Sample<'_>| is_msr(*other) && other.label("name") == Some(name);
    outermost && (is_msr(sample) || !all.iter().any(twin))
}

#[cfg(test)]
mod tests;

//! Energy by RAPL domain, and what power it may draw.
//!
//! Source: `/sys/class/powercap/ZONE/{name,energy_uj (uJ),max_energy_range_uj (uJ)}`, and of power limits
//! `{enabled,constraint_K_name,constraint_K_power_limit_uw (uW),constraint_K_time_window_us (us)}`.
//! Kernel: 3.13; Documentation/power/powercap/powercap.rst.
//! Absent: no powercap driver, as in virtual machines. AMD has no limits.
//! Denied: `energy_uj` is readable by root only since Linux 5.10; CAP_DAC_READ_SEARCH is enough.
//! Cost: D, one wake-up a package and zone of the MSR driver; none of the MMIO and TPMI drivers. Limits are read once, when
//! a zone is found. Zones of other control types (arm-scmi, dtpm) talk to firmware and are not read.
//!
//! Energy counters are 32 bits wide and wrap every few minutes under load (a 400 W AMD package in 160 s): what is
//! published is the sum since the start, corrected by `max_energy_range_uj`.

mod limits;
mod meter;
mod powercap;

use toolkit::metric::{Metric, Sample, Sink};

use self::limits::Limits;
use self::meter::Meters;
use self::powercap::Powercap;
use crate::collector::{Collector, Cost, Info};
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
#[derive(Debug, Default)]
pub struct Rapl {
    powercap: Powercap,
    meters: Meters,
}

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
        about: "energy by package, DRAM and other domains; at the start their power limits (/sys/class/powercap)",
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
        self.powercap.look(root, &mut self.meters)?;
        Ok(Reading {
            energy: self.powercap.energy(root, &mut self.meters),
            limits: self.powercap.limits(root),
        })
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

/// Whether a sample of [`ENERGY`] may be added up with its like: the MMIO driver shows the same counters as the MSR
/// driver, and domains inside a package, such as `core`, are in it already.
pub fn counts_once(sample: Sample<'_>, all: &[Sample<'_>]) -> bool {
    let name = sample.label("name").unwrap_or_default();
    let outermost = name.starts_with("package-") || name == "dram" || name.starts_with("psys");
    let is_msr = |sample: Sample<'_>| sample.label("control_type") == Some("intel-rapl");
    let twin = |other: &Sample<'_>| is_msr(*other) && other.label("name") == Some(name);
    outermost && (is_msr(sample) || !all.iter().any(twin))
}

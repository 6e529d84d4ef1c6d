//! Energy by RAPL domain.
//!
//! Source: `/sys/class/powercap/ZONE/{name,energy_uj (uJ),max_energy_range_uj (uJ)}`.
//! Kernel: 3.13; Documentation/power/powercap/powercap.rst.
//! Absent: no powercap driver, as in virtual machines.
//! Denied: `energy_uj` is readable by root only since Linux 5.10; CAP_DAC_READ_SEARCH is enough.
//! Cost: D, one wake-up a package and zone of the MSR driver; none of the MMIO and TPMI drivers. Zones of other control
//! types (arm-scmi, dtpm) talk to firmware and are not read.
//!
//! Energy counters are 32 bits wide and wrap every few minutes under load (a 400 W AMD package in 160 s): what is
//! published is the sum since the start, corrected by `max_energy_range_uj`. On AMD the domain `core` is one core only.

use toolkit::metric::{Metric, Sample, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::parse::{self, ParseError};
use crate::root::{Dir, Error, Kept, Root, absent};

/// Energy of each zone.
pub static ENERGY: Metric<5> = Metric::counter(
    "wakelag_rapl_energy_joules_total",
    "Energy spent in the RAPL zone since the exporter's start; package holds core and uncore, psys holds packages.",
    &["control_type", "zone", "name", "package", "die"],
);
static WRAPS: Metric<5> = Metric::counter(
    "wakelag_rapl_wraps_total",
    "Times the zone's hardware counter wrapped around since the exporter's start.",
    &["control_type", "zone", "name", "package", "die"],
);

/// RAPL collector.
#[derive(Debug, Default)]
pub struct Rapl {
    /// What was in [`POWERCAP`] when zones were looked for.
    names: Vec<String>,
    zones: Vec<Zone>,
    /// A zone could not be read as it should: look again next time.
    stale: bool,
}

const POWERCAP: &str = "class/powercap";

#[derive(Debug)]
struct Zone {
    labels: [String; 5],
    energy: Kept,
    range_uj: Option<u64>,
    meter: Meter,
}

/// A 32-bit energy counter made into one that does not wrap.
#[derive(Debug, Default)]
struct Meter {
    last_uj: Option<u64>,
    total_uj: u64,
    wraps: u64,
}

/// Energy of one zone since the start.
#[derive(Debug)]
pub struct Reading {
    labels: [String; 5],
    total_uj: u64,
    wraps: u64,
}

impl Collector for Rapl {
    type Reading = Vec<Reading>;
    const INFO: &'static Info = &Info {
        name: "rapl",
        about: "energy by package, DRAM and other domains (/sys/class/powercap)",
        default_on: true,
        cost: Cost::D,
        metrics: &[ENERGY.desc(), WRAPS.desc()],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        // Zones go with a package's last CPU and come back with its first, or with a driver that is loaded later.
        let names = root.names(POWERCAP)?;
        if self.stale || names != self.names {
            self.scan(root, names);
        }
        if self.zones.is_empty() && !self.stale {
            // A container's mask over powercap looks like this, and so does a machine without RAPL.
            return Err(root.missing(&format!("{POWERCAP}/intel-rapl:0/energy_uj")));
        }
        let mut readings = Vec::with_capacity(self.zones.len());
        for zone in &mut self.zones {
            let energy_uj = root.parse(&mut zone.energy, parse::number);
            let gone = |error: &Error| error.errno().is_some_and(absent);
            self.stale |= energy_uj.as_ref().is_err_and(gone);
            let counted = energy_uj.and_then(|uj| zone.count(uj));
            if root.tolerate(counted).is_some() {
                readings.push(Reading {
                    labels: zone.labels.clone(),
                    total_uj: zone.meter.total_uj,
                    wraps: zone.meter.wraps,
                });
            }
        }
        self.stale |= root.take_replaced();
        Ok(readings)
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for zone in &reading {
            let labels = zone.labels.each_ref().map(String::as_str);
            out.put(&ENERGY, labels, zone.total_uj as f64 / 1e6);
            out.put(&WRAPS, labels, zone.wraps as f64);
        }
    }
}

impl Rapl {
    /// Looks for zones among `names`, and keeps the meters of those known already.
    fn scan(&mut self, root: &Root, names: Vec<String>) {
        let errors_before = root.tolerated();
        let mut known = std::mem::take(&mut self.zones);
        let is_zone = |name: &&String| name.starts_with("intel-rapl") && name.contains(':');
        for zone in names.iter().filter(is_zone) {
            let mut found = match Zone::find(root, zone, &names) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                // A link to nowhere: a container masks /sys/devices/virtual/powercap.
                Err(error) if error.errno().is_some_and(absent) => continue,
                Err(error) => {
                    root.tolerate::<()>(Err(error));
                    continue;
                }
            };
            if let Some(at) = known.iter().position(|z| z.labels == found.labels) {
                found.meter = known.swap_remove(at).meter;
            }
            self.zones.push(found);
        }
        self.stale = root.tolerated() > errors_before;
        self.names = names;
    }
}

impl Zone {
    /// The zone called `zone`, or nothing if it counts no energy, as those that only limit power.
    fn find(root: &Root, zone: &str, all: &[String]) -> Result<Option<Self>, Error> {
        let dir = Dir::list(root, format!("{POWERCAP}/{zone}"))?;
        let Some(energy) = dir.file(root, "energy_uj") else {
            return Ok(None);
        };
        let word =
            |zone: &str| root.parse_once(root.sys(&format!("{POWERCAP}/{zone}/name")), parse::word);
        let name = word(zone)?;
        let mut package_name = name.clone();
        // A domain inside a package does not say in which: its parent does.
        if let Some((parent, _)) = zone.rsplit_once(':')
            && all.iter().any(|name| name == parent)
            && parent.contains(':')
        {
            package_name = word(parent)?;
        }
        let (package, die) = package_and_die(&package_name);
        let control_type = zone.split(':').next().unwrap_or_default();
        let range = dir.file(root, "max_energy_range_uj");
        let range = range.map(|range| root.parse_once(range, parse::number));
        Ok(Some(Zone {
            labels: [control_type, zone, &name, package, die].map(str::to_owned),
            energy,
            range_uj: range.and_then(|range| root.tolerate(range)),
            meter: Meter::default(),
        }))
    }

    fn count(&mut self, energy_uj: u64) -> Result<(), Error> {
        self.meter
            .advance(energy_uj, self.range_uj)
            .map_err(|source| Error::Parse {
                path: self.energy.path().to_owned(),
                source,
            })
    }
}

impl Meter {
    /// Adds what was spent since the last reading. At most one wrap can lie between two readings.
    fn advance(&mut self, now_uj: u64, range_uj: Option<u64>) -> Result<(), ParseError> {
        let spent_uj = match (self.last_uj.replace(now_uj), range_uj) {
            (None, _) => 0,
            (Some(last), _) if now_uj >= last => now_uj - last,
            (Some(last), Some(range)) if range >= last => {
                self.wraps += 1;
                range - last + now_uj
            }
            (Some(last), _) => {
                let problem =
                    format!("went back from {last} to {now_uj} and the range is not known");
                return Err(ParseError::new(1, problem));
            }
        };
        self.total_uj += spent_uj;
        Ok(())
    }
}

/// `package-1-die-0` is package 1, die 0. A zone outside of all packages has neither.
fn package_and_die(name: &str) -> (&str, &str) {
    let Some(rest) = name.strip_prefix("package-") else {
        return ("", "");
    };
    rest.split_once("-die-").unwrap_or((rest, ""))
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
mod tests {
    use super::*;

    const RANGE_UJ: u64 = 262_143_328_850;

    #[test]
    fn energy_counts_from_the_first_reading() {
        let mut meter = Meter::default();
        meter.advance(83_214_456_712, Some(RANGE_UJ)).unwrap();
        assert_eq!(meter.total_uj, 0);
        meter.advance(83_214_456_713, Some(RANGE_UJ)).unwrap();
        assert_eq!((meter.total_uj, meter.wraps), (1, 0));
    }

    #[test]
    fn a_wrap_is_corrected_by_the_range() {
        let mut meter = Meter::default();
        meter.advance(262_143_000_000, Some(RANGE_UJ)).unwrap();
        meter.advance(1_000_000, Some(RANGE_UJ)).unwrap();
        assert_eq!((meter.total_uj, meter.wraps), (1_328_850, 1));
    }

    #[test]
    fn a_wrap_of_an_unknown_range_is_an_error_and_counting_goes_on_behind_it() {
        let mut meter = Meter::default();
        meter.advance(1000, None).unwrap();
        assert!(meter.advance(10, None).is_err());
        meter.advance(15, None).unwrap();
        assert_eq!(meter.total_uj, 5);
    }

    #[test]
    fn packages_and_dies() {
        assert_eq!(package_and_die("package-1"), ("1", ""));
        assert_eq!(package_and_die("package-0-die-1"), ("0", "1"));
        assert_eq!(package_and_die("psys"), ("", ""));
    }
}

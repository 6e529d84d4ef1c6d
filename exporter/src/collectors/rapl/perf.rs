//! The PMU `power`: all domains of a package in one read, counted by the kernel without a wrap.
//!
//! The PMU `power_core` (AMD, since Linux 6.14) counts each core by itself and would wake up each of them; it is not read.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::errno::Errno;

use super::{Energy, Labels};
use crate::parse::{self, ParseError};
use crate::perf::{Count, DEVICES, Packages, Perf, Place};
use crate::root::{Error, Root};

const PMU: &str = "power";
/// Counters move every millisecond, one of whole joules at 50 W in 20.
const SETTLE: Duration = Duration::from_millis(20);

/// Energy by domain and package.
#[derive(Debug)]
pub(super) struct Power {
    packages: Packages,
    /// Joules of one count of each event.
    scales: BTreeMap<String, f64>,
    is_settled: bool,
    is_dead: bool,
}

impl Power {
    pub(super) fn new(perf: Box<dyn Perf>) -> Self {
        Power {
            packages: Packages::new(PMU, |event| event.starts_with("energy-"), perf),
            scales: BTreeMap::new(),
            is_settled: false,
            is_dead: false,
        }
    }

    /// Reads the energy of every domain that has any. One that stands still counts nothing: in some virtual machines the
    /// PMU is there and its registers are 0 for ever.
    ///
    /// # Errors
    /// There is no such PMU, it may not be counted, or none of its domains counts anything (ENXIO).
    pub(super) fn energy(&mut self, root: &Root) -> Result<Vec<Energy>, Error> {
        let mut counts = self.packages.read(root)?;
        if !self.is_settled {
            std::thread::sleep(SETTLE);
            counts = self.packages.read(root)?;
            self.is_settled = true;
        }
        self.is_dead = !counts.iter().any(|count| count.count > 0);
        if self.is_dead {
            return Err(root.error(&format!("{DEVICES}/{PMU}"), Errno::ENXIO));
        }
        let moved = counts.iter().filter(|count| count.count > 0);
        Ok(moved.filter_map(|count| self.domain(root, count)).collect())
    }

    /// Whether the last reading found that nothing is counted.
    pub(super) fn is_dead(&self) -> bool {
        self.is_dead
    }

    pub(super) fn close(&mut self) {
        self.packages.close();
    }

    fn domain(&mut self, root: &Root, count: &Count) -> Option<Energy> {
        let labels = labels(&count.event, &count.place)?;
        let scale = match self.scales.get(&count.event) {
            Some(scale) => *scale,
            None => {
                let scale = root.tolerate(read_scale(root, &count.event))?;
                self.scales.insert(count.event.clone(), scale);
                scale
            }
        };
        Some(Energy {
            labels,
            joules: count.count as f64 * scale,
            wraps: None,
        })
    }
}

/// Under the names that powercap has for the same domains.
fn labels(event: &str, place: &Place) -> Option<Labels> {
    let (package, die) = (&*place.package, &*place.die);
    let at = match die {
        "" => package.to_owned(),
        die => format!("{package}-die-{die}"),
    };
    let zone = format!("{PMU}:{at}:{event}");
    let (name, package, die) = match event {
        "energy-pkg" => (format!("package-{at}"), package, die),
        "energy-cores" => ("core".to_owned(), package, die),
        "energy-gpu" => ("uncore".to_owned(), package, die),
        "energy-ram" => ("dram".to_owned(), package, die),
        "energy-psys" if package == "0" => ("psys".to_owned(), "", ""),
        "energy-psys" => (format!("psys-{package}"), "", ""),
        _ => return None,
    };
    Some(["perf", &zone, &name, package, die].map(str::to_owned))
}

fn read_scale(root: &Root, event: &str) -> Result<f64, Error> {
    let file = |suffix| root.sys(&format!("{DEVICES}/{PMU}/events/{event}.{suffix}"));
    root.parse_once(file("unit"), joules)?;
    root.parse_once(file("scale"), scale)
}

/// The unit of an event: `Joules`.
fn joules(text: &str) -> Result<(), ParseError> {
    match parse::word(text)?.as_str() {
        "Joules" => Ok(()),
        other => Err(ParseError::new(1, format!("{other:?} are no Joules"))),
    }
}

/// What one count is worth: `2.3283064365386962890625e-10`.
fn scale(text: &str) -> Result<f64, ParseError> {
    let word = parse::word(text)?;
    let scale = word.parse().ok();
    let scale = scale.filter(|scale: &f64| scale.is_normal() && *scale > 0.0);
    scale.ok_or_else(|| ParseError::new(1, format!("{word:?} is no scale")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18.
    #[test]
    fn scales_and_units() {
        assert_eq!(scale("2.3283064365386962890625e-10\n"), Ok(2f64.powi(-32)));
        assert_eq!(joules("Joules\n"), Ok(()));
        for bad in [
            "", "\n", "0\n", "-1\n", "NaN\n", "inf\n", "1e400\n", "1 2\n", "1e-400",
        ] {
            assert!(scale(bad).is_err(), "{bad:?}");
        }
        assert!(joules("Watts\n").is_err() && joules("").is_err());
    }
}

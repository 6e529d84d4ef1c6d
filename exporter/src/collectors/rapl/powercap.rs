//! The zones of powercap, one file each.

use super::limits::Limits;
use super::meter::Meters;
use super::{Energy, Labels};
use crate::parse;
use crate::root::{Dir, Error, Kept, Root, absent};

pub(super) const POWERCAP: &str = "class/powercap";

/// The zones there are.
#[derive(Debug, Default)]
pub(super) struct Powercap {
    /// What was in [`POWERCAP`] when zones were looked for.
    names: Vec<String>,
    zones: Vec<Zone>,
    /// A zone could not be read as it should: look again next time.
    stale: bool,
}

#[derive(Debug)]
struct Zone {
    labels: Labels,
    /// None of a zone that limits power and counts none.
    energy: Option<Kept>,
    range_uj: Option<u64>,
    limits: Limits,
}

impl Powercap {
    /// Looks for zones where they may have changed: they go with a package's last CPU and come back with its first, or with
    /// a driver that is loaded later.
    ///
    /// # Errors
    /// There is no powercap, or no zone in it.
    pub(super) fn look(&mut self, root: &Root, meters: &mut Meters) -> Result<(), Error> {
        let names = root.names(POWERCAP)?;
        if self.stale || names != self.names {
            self.scan(root, names);
            meters.bound(self.zones.iter().map(|zone| &zone.labels));
        }
        if self.zones.is_empty() && !self.stale {
            // A container's mask over powercap looks like this, and so does a machine without RAPL.
            return Err(root.missing(&format!("{POWERCAP}/intel-rapl:0/energy_uj")));
        }
        Ok(())
    }

    /// Reads the energy of every zone.
    pub(super) fn energy(&mut self, root: &Root, meters: &mut Meters) -> Vec<Energy> {
        let mut read = Vec::with_capacity(self.zones.len());
        for zone in &mut self.zones {
            let Some(file) = &mut zone.energy else {
                continue;
            };
            let energy_uj = root.parse(file, parse::number);
            let gone = |error: &Error| error.errno().is_some_and(absent);
            self.stale |= energy_uj.as_ref().is_err_and(gone);
            let meter = meters.of(&zone.labels);
            let counted = energy_uj.and_then(|uj| {
                let counted = meter.advance(uj, zone.range_uj);
                counted.map_err(|source| Error::Parse {
                    path: file.path().to_owned(),
                    source,
                })
            });
            if root.tolerate(counted).is_some() {
                read.push(Energy {
                    labels: zone.labels.clone(),
                    joules: meter.total_uj as f64 / 1e6,
                    wraps: Some(meter.wraps),
                });
            }
        }
        self.stale |= root.take_replaced();
        read
    }

    /// The limits of every zone, as they were when it was found.
    pub(super) fn limits(&self, root: &Root) -> Vec<(Labels, Limits)> {
        let limits = self.zones.iter().map(|zone| {
            zone.limits.complain(root);
            (zone.labels.clone(), zone.limits.clone())
        });
        limits.collect()
    }

    /// Looks for zones among `names`. Of those known already the limits are not read again.
    fn scan(&mut self, root: &Root, names: Vec<String>) {
        let errors_before = root.tolerated();
        let known = std::mem::take(&mut self.zones);
        let is_zone = |name: &&String| name.starts_with("intel-rapl") && name.contains(':');
        for zone in names.iter().filter(is_zone) {
            match Zone::find(root, zone, &names, &known) {
                Ok(found) => self.zones.extend(found),
                // A link to nowhere: a container masks /sys/devices/virtual/powercap.
                Err(error) if error.errno().is_some_and(absent) => {}
                Err(error) => {
                    root.tolerate::<()>(Err(error));
                }
            }
        }
        self.stale = root.tolerated() > errors_before;
        self.names = names;
    }
}

impl Zone {
    /// The zone called `zone`, or nothing if it neither counts energy nor limits power.
    fn find(
        root: &Root,
        zone: &str,
        all: &[String],
        known: &[Zone],
    ) -> Result<Option<Self>, Error> {
        let dir = Dir::list(root, format!("{POWERCAP}/{zone}"))?;
        let word =
            |zone: &str| root.parse_once(root.sys(&format!("{POWERCAP}/{zone}/name")), parse::word);
        if !dir.has("energy_uj") && !dir.has("constraint_0_name") {
            return Ok(None);
        }
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
        let labels = [control_type, zone, &name, package, die].map(str::to_owned);
        let limits = known.iter().find(|zone| zone.labels == labels);
        let limits = limits.map(|zone| zone.limits.clone());
        let range = dir.file(root, "max_energy_range_uj");
        let range = range.map(|range| root.parse_once(range, parse::number));
        Ok(Some(Zone {
            labels,
            energy: dir.file(root, "energy_uj"),
            range_uj: range.and_then(|range| root.tolerate(range)),
            limits: limits.unwrap_or_else(|| Limits::read(root, &dir)),
        }))
    }
}

/// `package-1-die-0` is package 1, die 0. A zone outside of all packages has neither.
fn package_and_die(name: &str) -> (&str, &str) {
    let Some(rest) = name.strip_prefix("package-") else {
        return ("", "");
    };
    rest.split_once("-die-").unwrap_or((rest, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_dies() {
        assert_eq!(package_and_die("package-1"), ("1", ""));
        assert_eq!(package_and_die("package-0-die-1"), ("0", "1"));
        assert_eq!(package_and_die("psys"), ("", ""));
    }
}

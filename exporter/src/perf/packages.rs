//! The events of a PMU, counted for every package.

use std::collections::BTreeMap;

use super::{Counters, Perf, Pmu};
use crate::parse;
use crate::root::{Error, Kept, Root};

/// A package, or a die of one that has several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The package's number.
    pub package: String,
    /// The die's number, empty where the PMU counts for the whole package.
    pub die: String,
}

/// What one event counted in one place since the first reading.
#[derive(Debug, Clone)]
pub struct Count {
    /// Where.
    pub place: Place,
    /// The event's name.
    pub event: String,
    /// The count, in the event's unit.
    pub count: u64,
}

/// The counts of a PMU.
#[derive(Debug)]
pub struct Packages {
    name: &'static str,
    wanted: fn(&str) -> bool,
    perf: Box<dyn Perf>,
    open: Option<Open>,
}

/// A PMU that was found.
#[derive(Debug)]
struct Open {
    pmu: Pmu,
    mask: Kept,
    /// The CPUs that count, one a place, when groups were opened.
    cpus: Vec<u32>,
    /// Of places that are gone too: they come back.
    groups: BTreeMap<Place, Group>,
    /// A group could not be opened or read: try again.
    stale: bool,
}

#[derive(Debug)]
struct Group {
    counters: Option<Box<dyn Counters>>,
    last: Vec<u64>,
    total: Vec<u64>,
}

impl Packages {
    /// The events of the PMU `name` that are `wanted`. Nothing is opened yet.
    pub fn new(name: &'static str, wanted: fn(&str) -> bool, perf: Box<dyn Perf>) -> Self {
        Packages {
            name,
            wanted,
            perf,
            open: None,
        }
    }

    /// Reads all counts. A package that has gone is left out, and goes on from where it was when it is back.
    ///
    /// # Errors
    /// There is no such PMU, or nothing of it may be counted.
    pub fn read(&mut self, root: &Root) -> Result<Vec<Count>, Error> {
        let open = match self.open.take() {
            Some(open) => open,
            None => Open::find(root, self.name, self.wanted)?,
        };
        let open = self.open.insert(open);
        let cpus = root.parse(&mut open.mask, parse::cpu_list)?;
        if open.stale || cpus != open.cpus {
            open.follow(root, &*self.perf, cpus)?;
        }
        Ok(open.read(root))
    }

    /// Stops counting.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The system call, for what else is to be counted.
    pub fn perf(&self) -> &dyn Perf {
        &*self.perf
    }
}

impl Open {
    fn find(root: &Root, name: &str, wanted: fn(&str) -> bool) -> Result<Self, Error> {
        let pmu = Pmu::find(root, name, wanted)?;
        let mask = root.sys(&format!("{}/cpumask", pmu.dir));
        Ok(Open {
            pmu,
            mask,
            cpus: Vec::new(),
            groups: BTreeMap::new(),
            stale: true,
        })
    }

    /// Opens a group for each place of `cpus` that has none, and closes those of places that are gone. Where a place gets
    /// another CPU, the kernel has moved its events there.
    fn follow(&mut self, root: &Root, perf: &dyn Perf, cpus: Vec<u32>) -> Result<(), Error> {
        let configs: Vec<u64> = self.pmu.events.iter().map(|event| event.config).collect();
        let places = places(root, &cpus);
        for (place, group) in &mut self.groups {
            if !places.contains_key(place) {
                group.counters = None;
            }
        }
        let mut errors = Vec::new();
        for (place, cpu) in &places {
            let group = self.groups.entry(place.clone()).or_insert_with(|| Group {
                counters: None,
                last: Vec::new(),
                total: vec![0; configs.len()],
            });
            if group.counters.is_none() {
                match perf.open(self.pmu.kind, &configs, *cpu) {
                    Ok(counters) => {
                        group.counters = Some(counters);
                        group.last = vec![0; configs.len()];
                    }
                    Err(errno) => errors.push(root.error(&self.pmu.dir, errno)),
                }
            }
        }
        self.stale = !errors.is_empty() || places.len() < cpus.len();
        self.cpus = cpus;
        let counts = self.groups.values().any(|group| group.counters.is_some());
        match errors.pop() {
            Some(error) if !counts => return Err(error),
            error => errors.extend(error),
        }
        for error in errors {
            root.tolerate::<()>(Err(error));
        }
        Ok(())
    }

    fn read(&mut self, root: &Root) -> Vec<Count> {
        let mut counts = Vec::new();
        for (place, group) in &mut self.groups {
            let Some(counters) = &mut group.counters else {
                continue;
            };
            match counters.read() {
                Ok(now) => group.advance(now),
                Err(errno) => {
                    root.tolerate::<()>(Err(root.error(&self.pmu.dir, errno)));
                    group.counters = None;
                    self.stale = true;
                    continue;
                }
            }
            let events = self.pmu.events.iter().zip(&group.total);
            counts.extend(events.map(|(event, count)| Count {
                place: place.clone(),
                event: event.name.clone(),
                count: *count,
            }));
        }
        counts
    }
}

impl Group {
    fn advance(&mut self, now: Vec<u64>) {
        for ((total, last), now) in self.total.iter_mut().zip(&self.last).zip(&now) {
            *total += now.saturating_sub(*last);
        }
        self.last = now;
    }
}

/// The places that `cpus` count for, and which of them does. A die is said only where a package has several of them.
fn places(root: &Root, cpus: &[u32]) -> BTreeMap<Place, u32> {
    let topology = |cpu: u32, what: &str| {
        let file = root.sys(&format!("devices/system/cpu/cpu{cpu}/topology/{what}"));
        root.parse_once(file, parse::word)
    };
    let packages = cpus
        .iter()
        .filter_map(|cpu| Some((*cpu, root.tolerate(topology(*cpu, "physical_package_id"))?)));
    let packages: Vec<(u32, String)> = packages.collect();
    let mut places = BTreeMap::new();
    for (cpu, package) in &packages {
        let is_split = packages.iter().filter(|(_, p)| p == package).count() > 1;
        let die = match is_split {
            true => root.tolerate(topology(*cpu, "die_id")),
            false => Some(String::new()),
        };
        let package = package.clone();
        places.extend(die.map(|die| (Place { package, die }, *cpu)));
    }
    places
}

#[cfg(test)]
mod tests;

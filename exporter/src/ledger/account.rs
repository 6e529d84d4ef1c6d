//! Time and energy of one set of CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use toolkit::metric::Sample;

use super::{CHANGING, OTHER};

/// What was spent under which profile.
#[derive(Debug)]
pub(super) struct Account {
    limit: usize,
    /// The profile in force, and when it was last seen so.
    current: Option<(String, Instant)>,
    packages: BTreeSet<String>,
    /// The counter of each zone when it was last read, and how many changes had been seen by then.
    zones: BTreeMap<(String, String), (f64, u64)>,
    pub(super) seen: BTreeSet<String>,
    pub(super) changes: u64,
    pub(super) last_change: Option<SystemTime>,
    pub(super) seconds: BTreeMap<String, f64>,
    /// By profile and name of the zone.
    pub(super) energy: BTreeMap<(String, String), f64>,
}

impl Account {
    /// An account that tells `limit` profiles apart.
    pub(super) fn new(limit: usize) -> Self {
        Account {
            limit,
            current: None,
            packages: BTreeSet::new(),
            zones: BTreeMap::new(),
            seen: BTreeSet::new(),
            changes: 0,
            last_change: None,
            seconds: BTreeMap::new(),
            energy: BTreeMap::new(),
        }
    }

    /// The profile in force, once one was seen.
    pub(super) fn current(&self) -> Option<&String> {
        self.current.as_ref().map(|(profile, _)| profile)
    }

    pub(super) fn observe_profile(&mut self, profile: &str, now: Instant, wall: SystemTime) {
        let profile = self.bounded(profile);
        if let Some((before, since)) = &self.current {
            let seconds = now.duration_since(*since).as_secs_f64();
            let spent_under = if *before == profile {
                before.clone()
            } else {
                self.changes += 1;
                self.last_change = Some(wall);
                CHANGING.to_owned()
            };
            *self.seconds.entry(spent_under).or_default() += seconds;
        }
        self.seconds.entry(profile.clone()).or_default();
        self.current = Some((profile, now));
    }

    fn bounded(&mut self, profile: &str) -> String {
        if !self.seen.contains(profile) && self.seen.len() >= self.limit {
            self.seen.insert(OTHER.to_owned());
            return OTHER.to_owned();
        }
        self.seen.insert(profile.to_owned());
        profile.to_owned()
    }

    /// Takes note of the packages the CPUs lie on. Where they changed, what was spent since the last reading is not known
    /// to be theirs.
    pub(super) fn lies_on(&mut self, packages: &BTreeSet<&str>) {
        if !packages.iter().eq(&self.packages) {
            self.packages = packages
                .iter()
                .map(|package| (*package).to_owned())
                .collect();
            self.zones.clear();
        }
    }

    /// Takes note of the counter of a zone, one that may be added up with others.
    pub(super) fn observe_energy(&mut self, zone: Sample<'_>) {
        let (Some((current, _)), Some(joules)) = (&self.current, zone.value()) else {
            return;
        };
        let get = |name| zone.label(name).unwrap_or_default();
        let key = (get("control_type").to_owned(), get("zone").to_owned());
        let before = self.zones.insert(key, (joules, self.changes));
        let spent = |profile: &str| (profile.to_owned(), get("name").to_owned());
        let row = self.energy.entry(spent(current)).or_default();
        match before {
            // The counter went back: its collector began anew, and the energy in between is not known.
            Some((before, _)) if joules < before => {}
            Some((before, changes)) if changes == self.changes => *row += joules - before,
            Some((before, _)) => {
                *self.energy.entry(spent(CHANGING)).or_default() += joules - before;
            }
            None => {}
        }
    }
}

//! Time and energy by profile: what the host spent under which settings.
//!
//! The ledger reads what the collectors have just published. A stretch of time or energy goes to a profile only if the
//! profile was the same at both of its ends; otherwise it goes to `changing`, since part of it belongs to the one and
//! part to the other. So the figures of a profile never hold a second or a joule of another, and they add up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use toolkit::metric::{Desc, Family, Metric, Sample, Sink};

use crate::collectors::rapl;
use crate::settings::{PROFILE_INFO, change_timestamp_s};

/// Stretches in which the profile changed.
pub const CHANGING: &str = "changing";
/// Profiles seen after the first [`MAX_PROFILES`].
pub const OTHER: &str = "other";
/// A host that goes through more settings than this is being experimented on.
const MAX_PROFILES: usize = 64;

static ACTIVE: Metric<1> = Metric::gauge(
    "wakelag_profile_active",
    "Whether the host is in this profile now; one series for every profile seen since the start.",
    &["profile"],
);
static LAST_CHANGE: Metric<0> = Metric::gauge(
    "wakelag_profile_last_change_timestamp_seconds",
    "When a scrape first saw the present profile after another one; 0 if it has not changed since the start.",
    &[],
);
static CHANGES: Metric<0> = Metric::counter(
    "wakelag_profile_changes_total",
    "Changes of the profile seen since the start.",
    &[],
);
static SECONDS: Metric<1> = Metric::counter(
    "wakelag_profile_seconds_total",
    "Time spent under each profile; a stretch between two scrapes that differ counts as changing.",
    &["profile"],
);
static ENERGY: Metric<2> = Metric::counter(
    "wakelag_profile_energy_joules_total",
    "Energy by RAPL domain spent under each profile; a stretch between two scrapes that differ counts as changing.",
    &["profile", "name"],
);

/// What the ledger publishes.
pub static METRICS: &[&Desc] = &[
    ACTIVE.desc(),
    LAST_CHANGE.desc(),
    CHANGES.desc(),
    SECONDS.desc(),
    ENERGY.desc(),
];

/// Accumulates time and energy by profile.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The profile in force, and when it was last seen so.
    current: Option<(String, Instant)>,
    seen: BTreeSet<String>,
    changes: u64,
    last_change: Option<SystemTime>,
    seconds: BTreeMap<String, f64>,
    energy: BTreeMap<(String, String), f64>,
    /// The counter of each zone when it was last read, and how many changes had been seen by then.
    zones: BTreeMap<(String, String), (f64, u64)>,
}

impl Ledger {
    /// Takes note of what the collectors published in `parts` at `now`, which is `wall` on the wall clock.
    pub fn observe(&mut self, parts: &[Vec<Family>], now: Instant, wall: SystemTime) {
        let families = || parts.iter().flatten();
        let samples = |name: &'static str| {
            let named = families().filter(move |family| family.name() == name);
            named.flat_map(|family| family.samples())
        };
        let profile = samples(PROFILE_INFO.desc().name)
            .next()
            .and_then(|sample| sample.label("profile"));
        // Energy that is read without the profile waits for a reading with it: until then it is not known whether the
        // profile has changed.
        let Some(profile) = profile else { return };
        self.observe_profile(profile, now, wall);
        let zones: Vec<_> = samples(rapl::ENERGY.desc().name).collect();
        for zone in &zones {
            self.observe_energy(*zone, &zones);
        }
    }

    fn observe_profile(&mut self, profile: &str, now: Instant, wall: SystemTime) {
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
        if !self.seen.contains(profile) && self.seen.len() >= MAX_PROFILES {
            self.seen.insert(OTHER.to_owned());
            return OTHER.to_owned();
        }
        self.seen.insert(profile.to_owned());
        profile.to_owned()
    }

    fn observe_energy(&mut self, zone: Sample<'_>, all: &[Sample<'_>]) {
        let (Some((current, _)), Some(joules)) = (&self.current, zone.value()) else {
            return;
        };
        let get = |name| zone.label(name).unwrap_or_default();
        if !rapl::counts_once(zone, all) {
            return;
        }
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

    /// Publishes the ledger.
    pub fn emit(&self, out: &mut Sink) {
        let Some((current, _)) = &self.current else {
            return;
        };
        for profile in &self.seen {
            let active = f64::from(u8::from(profile == current));
            out.put(&ACTIVE, [profile], active);
        }
        let changed_at = change_timestamp_s(self.last_change);
        out.put(&LAST_CHANGE, [], changed_at);
        out.put(&CHANGES, [], self.changes as f64);
        for (profile, seconds) in &self.seconds {
            out.put(&SECONDS, [profile], *seconds);
        }
        for ((profile, name), joules) in &self.energy {
            out.put(&ENERGY, [profile, name], *joules);
        }
    }
}

#[cfg(test)]
mod tests;

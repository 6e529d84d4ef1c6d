//! Time and energy by profile: what the host spent under which settings.
//!
//! The ledger reads what the collectors have just published. A stretch of time or energy goes to a profile only if the
//! profile was the same at both of its ends; otherwise it goes to `changing`, since part of it belongs to the one and
//! part to the other. So the figures of a profile never hold a second or a joule of another, and they add up.
//!
//! Each further set of CPUs has an account of its own, in families of its own. Energy is known by package and not by CPU:
//! a set is charged with its packages as a whole, so sets that share a package do not add up to it.

mod account;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use toolkit::metric::{Desc, Family, Metric, Sample, Sink};

use self::account::Account;
use crate::collectors::rapl;
use crate::collectors::settings::sets;
use crate::settings::{PROFILE_INFO, PROFILE_SET_INFO, change_timestamp_s};

/// Stretches in which the profile changed.
pub const CHANGING: &str = "changing";
/// Profiles seen after the first ones, of which `--profile.max` says how many.
pub const OTHER: &str = "other";

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
static SET_ACTIVE: Metric<2> = Metric::gauge(
    "wakelag_profile_set_active",
    "Whether the set of CPUs is in this profile now; one series for every profile of it seen since the start.",
    &["set", "profile"],
);
static SET_LAST_CHANGE: Metric<1> = Metric::gauge(
    "wakelag_profile_set_last_change_timestamp_seconds",
    "When a scrape first saw the set's present profile after another one; 0 if it has not changed since the start.",
    &["set"],
);
static SET_CHANGES: Metric<1> = Metric::counter(
    "wakelag_profile_set_changes_total",
    "Changes of the set's profile seen since the start.",
    &["set"],
);
static SET_SECONDS: Metric<2> = Metric::counter(
    "wakelag_profile_set_seconds_total",
    "Time the set of CPUs spent under each profile; a stretch between two scrapes that differ counts as changing.",
    &["set", "profile"],
);
static SET_ENERGY: Metric<3> = Metric::counter(
    "wakelag_profile_set_energy_joules_total",
    "Energy of the packages the set lies on, while the set was under each profile: of the whole package, whoever else runs \
     there, so sets that share one do not add up.",
    &["set", "profile", "name"],
);

/// What the ledger publishes.
pub static METRICS: &[&Desc] = &[
    ACTIVE.desc(),
    LAST_CHANGE.desc(),
    CHANGES.desc(),
    SECONDS.desc(),
    ENERGY.desc(),
    SET_ACTIVE.desc(),
    SET_LAST_CHANGE.desc(),
    SET_CHANGES.desc(),
    SET_SECONDS.desc(),
    SET_ENERGY.desc(),
];

/// Accumulates time and energy by profile.
#[derive(Debug)]
pub struct Ledger {
    /// How many profiles an account may have.
    profiles_each: usize,
    host: Account,
    sets: BTreeMap<String, Account>,
}

impl Ledger {
    /// An empty ledger that tells `profiles_each` profiles of the host, and of each set, apart.
    pub fn new(profiles_each: usize) -> Self {
        Ledger {
            profiles_each,
            host: Account::new(profiles_each),
            sets: BTreeMap::new(),
        }
    }

    /// Takes note of what the collectors published in `parts` at `now`, which is `wall` on the wall clock.
    pub fn observe(&mut self, parts: &[Vec<Family>], now: Instant, wall: SystemTime) {
        let families = || parts.iter().flatten();
        let samples = |name: &'static str| {
            let named = families().filter(move |family| family.name() == name);
            named.flat_map(|family| family.samples())
        };
        let zones: Vec<_> = samples(rapl::ENERGY.desc().name).collect();
        let counted = zones
            .iter()
            .filter(|zone| rapl::counts_once(**zone, &zones));
        let counted: Vec<_> = counted.copied().collect();
        let profile = samples(PROFILE_INFO.desc().name)
            .next()
            .and_then(|sample| sample.label("profile"));
        // Energy that is read without the profile waits for a reading with it: until then it is not known whether the
        // profile has changed.
        if let Some(profile) = profile {
            self.host.observe_profile(profile, now, wall);
            for zone in &counted {
                self.host.observe_energy(*zone);
            }
        }
        for info in samples(PROFILE_SET_INFO.desc().name) {
            let (Some(set), Some(profile)) = (info.label("set"), info.label("profile")) else {
                continue;
            };
            let places = samples(sets::PACKAGE_INFO.desc().name);
            let places = places.filter(|place| place.label("set") == Some(set));
            let packages: BTreeSet<&str> = places.filter_map(|p| p.label("package")).collect();
            let new = || Account::new(self.profiles_each);
            let account = self.sets.entry(set.to_owned()).or_insert_with(new);
            account.observe_profile(profile, now, wall);
            account.lies_on(&packages);
            let is_its_own = |zone: &&Sample<'_>| {
                let package = zone.label("package");
                package.is_some_and(|package| packages.contains(package))
            };
            for zone in counted.iter().filter(is_its_own) {
                account.observe_energy(*zone);
            }
        }
    }

    /// Publishes the ledger.
    pub fn emit(&self, out: &mut Sink) {
        emit_host(&self.host, out);
        for (set, account) in &self.sets {
            emit_set(set, account, out);
        }
    }
}

fn emit_host(account: &Account, out: &mut Sink) {
    let Some(current) = account.current() else {
        return;
    };
    for profile in &account.seen {
        out.put(&ACTIVE, [profile], f64::from(u8::from(profile == current)));
    }
    out.put(&LAST_CHANGE, [], change_timestamp_s(account.last_change));
    out.put(&CHANGES, [], account.changes as f64);
    for (profile, seconds) in &account.seconds {
        out.put(&SECONDS, [profile], *seconds);
    }
    for ((profile, name), joules) in &account.energy {
        out.put(&ENERGY, [profile, name], *joules);
    }
}

fn emit_set(set: &str, account: &Account, out: &mut Sink) {
    let Some(current) = account.current() else {
        return;
    };
    for profile in &account.seen {
        let active = f64::from(u8::from(profile == current));
        out.put(&SET_ACTIVE, [set, profile], active);
    }
    let changed_at = change_timestamp_s(account.last_change);
    out.put(&SET_LAST_CHANGE, [set], changed_at);
    out.put(&SET_CHANGES, [set], account.changes as f64);
    for (profile, seconds) in &account.seconds {
        out.put(&SET_SECONDS, [set, profile], *seconds);
    }
    for ((profile, name), joules) in &account.energy {
        out.put(&SET_ENERGY, [set, profile, name], *joules);
    }
}

#[cfg(test)]
mod tests;

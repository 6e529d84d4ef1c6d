//! The power settings of a host as one value. Its short name is the *profile*.
//!
//! A profile is made from what moves latency: frequency governor, energy preference, boost, the deepest idle state
//! still allowed, a PM QoS limit in force, SMT. For example `performance/epp=performance/boost=on/idle<=C1@2us/smt=on`.
//! A part this host does not have is left out, and a part in which its CPUs differ is `mixed`.

mod known;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

pub use self::known::*;
use toolkit::metric::Metric;

/// The profile in force, under its name and by its parts.
pub static PROFILE_INFO: Metric<7> = Metric::gauge(
    "wakelag_profile_info",
    "The one profile in force, by name and by its parts; a part is empty where the host has no such setting.",
    &[
        "profile",
        "governor",
        "epp",
        "boost",
        "idle_limit",
        "qos",
        "smt",
    ],
);

/// The profile of each further set of CPUs, under its name and by its parts.
pub static PROFILE_SET_INFO: Metric<8> = Metric::gauge(
    "wakelag_profile_set_info",
    "The one profile in force on the CPUs of a set (--profile.set), by name and by its parts, as wakelag_profile_info is of \
     the host.",
    &[
        "set",
        "profile",
        "governor",
        "epp",
        "boost",
        "idle_limit",
        "qos",
        "smt",
    ],
);

/// The profile of CPUs none of which is online.
pub const OFFLINE: &str = "offline";
/// The profile of a host that shows none of the settings.
pub const UNKNOWN: &str = "unknown";
/// A part in which CPUs differ.
const MIXED: &str = "mixed";

/// The values a setting has on a host, and on how many CPUs each.
///
/// A setting of the whole host counts as one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread(BTreeMap<String, usize>);

impl Spread {
    /// A setting of the whole host.
    pub fn of_host(value: impl Into<String>) -> Self {
        let mut spread = Spread::default();
        spread.0.insert(value.into(), 1);
        spread
    }

    /// Counts `cpus` more CPUs at `value`.
    pub fn add(&mut self, value: &str, cpus: usize) {
        if cpus == 0 {
            return;
        }
        match self.0.get_mut(value) {
            Some(count) => *count += cpus,
            None => drop(self.0.insert(value.to_owned(), cpus)),
        }
    }

    /// The values present.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn cpus(&self) -> usize {
        self.0.values().sum()
    }

    /// Whether every value has the same share here as in `other`.
    pub fn has_shares_of(&self, other: &Spread) -> bool {
        let (all, all_other) = (self.cpus(), other.cpus());
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len()
            && pairs.all(|((a, n), (b, m))| a == b && n * all_other == m * all)
    }

    /// Share of the CPUs at `value`, 0 to 1.
    pub fn share(&self, value: &str) -> f64 {
        let all = self.cpus();
        let here = self.0.get(value).copied().unwrap_or_default();
        here as f64 / all.max(1) as f64
    }

    /// The one value, `mixed` where CPUs differ, or nothing where no CPU has the setting.
    pub fn one(&self) -> Option<&str> {
        let mut values = self.values();
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value),
            (Some(_), Some(_)) => Some(MIXED),
            (None, _) => None,
        }
    }
}

/// The parts a profile is made of; each is nothing where the host has no such setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// None of the CPUs it is about is online.
    pub offline: bool,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Energy-performance preference.
    pub epp: Option<String>,
    /// `on` or `off`.
    pub boost: Option<String>,
    /// Deepest allowed idle state with its exit latency, as `C1@2us`.
    pub idle_limit: Option<String>,
    /// PM QoS limit, as `10us`, while there is one.
    pub qos: Option<String>,
    /// State of SMT.
    pub smt: Option<String>,
}

impl Profile {
    /// The short name, the same for the same parts.
    pub fn name(&self) -> String {
        if self.offline {
            return OFFLINE.to_owned();
        }
        let parts = [
            ("", &self.governor),
            ("epp=", &self.epp),
            ("boost=", &self.boost),
            ("idle<=", &self.idle_limit),
            ("qos<=", &self.qos),
            ("smt=", &self.smt),
        ];
        let present = parts
            .into_iter()
            .filter_map(|(prefix, part)| Some(format!("{prefix}{}", part.as_ref()?)));
        let name = present.collect::<Vec<_>>().join("/");
        if name.is_empty() {
            UNKNOWN.to_owned()
        } else {
            name
        }
    }

    /// Governor, energy preference, boost, idle limit, PM QoS and SMT, as label values: empty where there is none.
    pub fn parts(&self) -> [&str; 6] {
        let parts = [
            &self.governor,
            &self.epp,
            &self.boost,
            &self.idle_limit,
            &self.qos,
            &self.smt,
        ];
        parts.map(|part| part.as_deref().unwrap_or_default())
    }
}

/// When something changed, in seconds since the epoch, as it is published: 0 if it has not changed since the start.
pub fn change_timestamp_s(last_change: Option<SystemTime>) -> f64 {
    last_change
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
        .map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_its_parts_in_a_fixed_order() {
        let profile = Profile {
            offline: false,
            governor: Some("performance".into()),
            epp: Some("performance".into()),
            boost: Some("on".into()),
            idle_limit: Some("C1@2us".into()),
            qos: None,
            smt: Some("on".into()),
        };
        assert_eq!(
            profile.name(),
            "performance/epp=performance/boost=on/idle<=C1@2us/smt=on"
        );
        let offline = Profile {
            offline: true,
            ..profile.clone()
        };
        assert_eq!(offline.name(), OFFLINE);
        let limited = Profile {
            qos: Some("10us".into()),
            ..profile
        };
        assert!(limited.name().ends_with("/idle<=C1@2us/qos<=10us/smt=on"));
    }

    #[test]
    fn parts_a_host_does_not_have_are_left_out() {
        let guest = Profile {
            smt: Some("notsupported".into()),
            ..Profile::default()
        };
        assert_eq!(guest.name(), "smt=notsupported");
        assert_eq!(Profile::default().name(), UNKNOWN);
    }

    #[test]
    fn cpus_that_differ_are_mixed_with_their_shares() {
        let mut spread = Spread::default();
        assert_eq!(spread.one(), None);
        spread.add("performance", 3);
        assert_eq!(spread.one(), Some("performance"));
        spread.add("powersave", 1);
        assert_eq!(spread.one(), Some("mixed"));
        assert_eq!(spread.share("performance"), 0.75);
        let mut twice = Spread::default();
        twice.add("performance", 6);
        assert!(!twice.has_shares_of(&spread));
        twice.add("powersave", 2);
        assert!(twice.has_shares_of(&spread));
        assert_eq!(spread.share("ondemand"), 0.0);
    }
}

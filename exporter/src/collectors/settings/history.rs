//! What settings were before: every value seen stays published, and a change is dated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::settings::{Setting, Spread};

/// The settings seen since the start.
#[derive(Debug, Default)]
pub(super) struct History(BTreeMap<&'static str, Past>);

/// One setting's past and present.
#[derive(Debug)]
pub(super) struct Past {
    /// As last read, and whether that was now.
    present: Spread,
    readable: bool,
    seen: BTreeSet<String>,
    last_change: Option<SystemTime>,
}

impl History {
    /// Takes note of a setting as it is now. A setting this host never had stays unpublished.
    pub(super) fn observe(&mut self, setting: &'static Setting, spread: Spread) {
        match self.0.get_mut(setting.name) {
            Some(past) => past.observe(spread),
            None if spread == Spread::default() => {}
            None => {
                let known = setting.known.iter().map(|value| (*value).to_owned());
                let seen = known.chain(spread.values().map(str::to_owned)).collect();
                self.0.insert(
                    setting.name,
                    Past {
                        present: spread,
                        readable: true,
                        seen,
                        last_change: None,
                    },
                );
            }
        }
    }

    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, &Past)> {
        self.0.iter().map(|(name, past)| (*name, past))
    }
}

impl Past {
    fn observe(&mut self, spread: Spread) {
        self.readable = spread != Spread::default();
        if !self.readable {
            return;
        }
        // A CPU that comes or goes with the setting of all others is no change of the setting.
        if !spread.has_shares_of(&self.present) {
            self.last_change = Some(SystemTime::now());
            self.seen.extend(spread.values().map(str::to_owned));
        }
        self.present = spread;
    }

    /// Every value seen with its share now; nothing while the setting cannot be read.
    pub(super) fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        let seen = self.seen.iter().filter(|_| self.readable);
        seen.map(|value| (value.as_str(), self.present.share(value)))
    }

    pub(super) fn last_change_seconds(&self) -> f64 {
        self.last_change
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
            .map_or(0.0, |since| since.as_secs_f64())
    }
}

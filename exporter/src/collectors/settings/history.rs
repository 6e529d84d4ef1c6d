//! What settings were before: every value seen stays published, and a change is dated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use crate::settings::{Setting, Spread, change_timestamp_s};

/// A setting that goes through more values than this, a latency limit that follows some load, keeps those it had first and
/// the present ones.
const MAX_VALUES: usize = 64;

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
            let room = MAX_VALUES.saturating_sub(self.seen.len());
            let new = spread.values().filter(|value| !self.seen.contains(*value));
            let new: Vec<_> = new.take(room).map(str::to_owned).collect();
            self.seen.extend(new);
        }
        self.present = spread;
    }

    /// Every value seen with its share now; nothing while the setting cannot be read.
    pub(super) fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        let seen = self.seen.iter().map(String::as_str);
        let unseen = self.present.values().filter(|v| !self.seen.contains(*v));
        let published = seen.chain(unseen).filter(|_| self.readable);
        published.map(|value| (value, self.present.share(value)))
    }

    pub(super) fn last_change_seconds(&self) -> f64 {
        change_timestamp_s(self.last_change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::QOS;

    #[test]
    fn a_setting_of_endless_values_does_not_grow_and_shows_the_present_one() {
        let mut history = History::default();
        for us in 0..200 {
            history.observe(&QOS, Spread::of_host(format!("{us}us")));
            let (_, past) = history.settings().next().unwrap();
            let shares: Vec<_> = past.shares().collect();
            assert!(shares.len() <= MAX_VALUES + 1, "{}", shares.len());
            let present: Vec<_> = shares.iter().filter(|(_, share)| *share == 1.0).collect();
            assert_eq!(present, [&(&*format!("{us}us"), 1.0)]);
        }
    }
}

//! Which profile a sample ran under, from the readings before and after it.

use std::sync::Arc;
use std::time::Instant;

/// The stamp of a sample between two readings that differ.
pub(super) const CHANGING: &str = "changing";
/// The stamp of a sample beside a reading that failed or was never made.
pub(super) const UNKNOWN: &str = "unknown";
/// The stamp that stands for every profile beyond the bound.
pub(super) const OTHER: &str = "other";

/// Whether a stamp is no profile.
pub(super) fn is_reserved(stamp: &str) -> bool {
    [CHANGING, UNKNOWN, OTHER].contains(&stamp)
}

/// The last two readings before the one that is being confirmed.
#[derive(Debug, Default)]
pub(super) struct Readings {
    last: Option<Reading>,
    before: Option<Reading>,
}

#[derive(Debug)]
struct Reading {
    ended: Instant,
    profile: Option<Arc<str>>,
}

impl Readings {
    /// The stamp of a sample that started at `started` and was done before the reading that now brought `profile`.
    ///
    /// Where it started after the last reading, that one and this one enclose it. Where it was under way during the
    /// last reading, the one before that has to agree too.
    pub(super) fn stamp(&self, profile: Option<&Arc<str>>, started: Instant) -> Arc<str> {
        let enclosed = self.last.as_ref().is_some_and(|last| last.ended <= started);
        let earlier: &[&Option<Reading>] = if enclosed {
            &[&self.last]
        } else {
            &[&self.last, &self.before]
        };
        let known = |reading: &&Option<Reading>| {
            let reading = reading.as_ref()?;
            reading.profile.clone()
        };
        let earlier: Option<Vec<Arc<str>>> = earlier.iter().map(known).collect();
        match (profile, earlier) {
            (Some(profile), Some(earlier)) if earlier.iter().all(|e| e == profile) => {
                Arc::clone(profile)
            }
            (Some(_), Some(_)) => Arc::from(CHANGING),
            _ => Arc::from(UNKNOWN),
        }
    }

    /// Takes the reading that has `ended`.
    pub(super) fn push(&mut self, ended: Instant, profile: Option<Arc<str>>) {
        self.before = self.last.replace(Reading { ended, profile });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The stamp of a sample that started at second `started`, with readings that ended at second 1, 2, ...
    fn stamp(readings: &[Option<&str>], started: u64) -> String {
        let epoch = Instant::now();
        let mut known = Readings::default();
        let (last, earlier) = readings.split_last().unwrap();
        for (second, profile) in (1..).zip(earlier) {
            known.push(epoch + Duration::from_secs(second), profile.map(Arc::from));
        }
        let last = last.map(Arc::from);
        let started = epoch + Duration::from_secs(started);
        known.stamp(last.as_ref(), started).to_string()
    }

    #[test]
    fn a_sample_between_two_readings_gets_what_they_agree_on() {
        assert_eq!(stamp(&[Some("a"), Some("a")], 1), "a");
        assert_eq!(stamp(&[Some("a"), Some("b")], 1), "changing");
        assert_eq!(stamp(&[Some("a"), None], 1), "unknown");
        assert_eq!(stamp(&[None, Some("a")], 1), "unknown");
    }

    #[test]
    fn a_sample_before_the_first_reading_is_unknown() {
        assert_eq!(stamp(&[Some("a")], 0), "unknown");
        assert_eq!(stamp(&[Some("a"), Some("a")], 0), "unknown");
    }

    #[test]
    fn a_sample_under_way_during_a_reading_needs_three_that_agree() {
        assert_eq!(stamp(&[Some("a"), Some("a"), Some("a")], 1), "a");
        assert_eq!(stamp(&[Some("b"), Some("a"), Some("a")], 1), "changing");
        assert_eq!(stamp(&[Some("b"), Some("a"), Some("a")], 2), "a");
        assert_eq!(stamp(&[None, Some("a"), Some("a")], 1), "unknown");
    }
}

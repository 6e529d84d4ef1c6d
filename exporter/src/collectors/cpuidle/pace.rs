//! Keeps published idle time of one CPU from advancing faster than the clock.

use std::time::Instant;

/// The published idle time of one CPU's states, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    published_us: Vec<Option<f64>>,
}

impl Pace {
    /// What to publish at `now` for the kernel's counters `raw_us`, one a state; nothing where a counter could not be
    /// read.
    ///
    /// All states of a CPU together advance by the time passed at most; what the kernel credited beyond (the whole of a
    /// long sleep that has just ended) is handed out later. A counter that went back began anew: it is taken as it is.
    pub(super) fn advance(&mut self, now: Instant, raw_us: &[Option<u64>]) -> Vec<Option<f64>> {
        let first = self.last.is_none() || self.published_us.len() != raw_us.len();
        let elapsed_us = self
            .last
            .map_or(0.0, |last| now.duration_since(last).as_secs_f64() * 1e6);
        self.last = Some(now);
        let raw = raw_us.iter().map(|raw| raw.map(|us| us as f64));
        if first {
            self.published_us = raw.collect();
            return self.published_us.clone();
        }
        let pending: Vec<f64> = raw
            .clone()
            .zip(&self.published_us)
            .map(|(raw, published)| match (raw, published) {
                (Some(raw), Some(published)) => (raw - published).max(0.0),
                _ => 0.0,
            })
            .collect();
        let all: f64 = pending.iter().sum();
        let share = if all > elapsed_us {
            elapsed_us / all
        } else {
            1.0
        };
        for ((published, raw), pending) in self.published_us.iter_mut().zip(raw).zip(pending) {
            *published = match (raw, *published) {
                (Some(raw), Some(before)) if raw >= before => Some(before + pending * share),
                (Some(raw), _) => Some(raw),
                (None, before) => before,
            };
        }
        let readable = self.published_us.iter().zip(raw_us);
        readable
            .map(|(published, raw)| raw.and(*published))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_end_of_a_long_sleep_is_handed_out_at_the_pace_of_the_clock() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::default();
        assert_eq!(pace.advance(at(0), &[Some(5_000_000)]), [Some(5e6)]);
        assert_eq!(pace.advance(at(1), &[Some(5_000_000)]), [Some(5e6)]);
        // Ten seconds of sleep are credited at once.
        assert_eq!(pace.advance(at(2), &[Some(15_000_000)]), [Some(6e6)]);
        assert_eq!(pace.advance(at(20), &[Some(15_000_000)]), [Some(15e6)]);
    }

    #[test]
    fn all_states_of_a_cpu_share_one_clock() {
        let start = Instant::now();
        let mut pace = Pace::default();
        pace.advance(start, &[Some(0), Some(0)]);
        let paced = pace.advance(
            start + Duration::from_secs(1),
            &[Some(1_000_000), Some(3_000_000)],
        );
        assert_eq!(paced, [Some(250_000.0), Some(750_000.0)]);
    }

    #[test]
    fn a_counter_that_went_back_is_a_reset() {
        let start = Instant::now();
        let mut pace = Pace::default();
        pace.advance(start, &[Some(9_000_000)]);
        let paced = pace.advance(start + Duration::from_secs(1), &[Some(7)]);
        assert_eq!(paced, [Some(7.0)]);
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_left_out_and_goes_on_later() {
        let start = Instant::now();
        let mut pace = Pace::default();
        pace.advance(start, &[Some(1_000_000)]);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(pace.advance(at(1), &[None]), [None]);
        assert_eq!(pace.advance(at(2), &[Some(1_500_000)]), [Some(1.5e6)]);
    }
}

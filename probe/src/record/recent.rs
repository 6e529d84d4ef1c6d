//! The last minutes of one position of a workload, exact, for a page to show.
//!
//! Kept by the clock that no one sets: a wall clock that is put back would stop the minutes from passing, and one that
//! is put right after the start would make the history as long as it was wrong.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::runner::Position;

/// One point of the history covers this many seconds.
const POINT_SECONDS: u64 = 5;
/// How long points are kept.
const HISTORY_SECONDS: u64 = 600;
/// The quantiles cover between one and two of these.
const WINDOW_SECONDS: u64 = 60;

/// What a page shows of one position of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Label `target`.
    pub target: String,
    /// Label `workload`.
    pub workload: String,
    /// Label `position`.
    pub position: &'static str,
    /// The profile of the last sample, and of all that are counted here.
    pub profile: String,
    /// How many samples of the last one to two minutes the quantiles are taken from.
    pub count: u64,
    /// Of the service time; `None` without samples.
    pub quantiles: Option<Quantiles>,
    /// Medians of five seconds each over the last ten minutes, in order: how many seconds ago they began, seconds.
    pub history: Vec<(f64, f64)>,
}

/// Quantiles of a service time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Median in seconds.
    pub p50_s: f64,
    /// 99th percentile in seconds.
    pub p99_s: f64,
}

/// Service times as they come in.
#[derive(Debug)]
pub(super) struct Recent {
    epoch: Instant,
    profile: Arc<str>,
    point: Slot,
    history: VecDeque<(u64, f64)>,
    window: Slot,
    window_before: Slot,
}

/// The samples of one stretch of the clock.
#[derive(Debug)]
struct Slot {
    number: u64,
    nanos: Histogram<u32>,
}

impl Slot {
    fn new() -> Self {
        match Histogram::new(3) {
            Ok(nanos) => Slot { number: 0, nanos },
            Err(error) => unreachable!("three digits are allowed: {error}"),
        }
    }

    fn begin(&mut self, number: u64) {
        self.number = number;
        self.nanos.reset();
    }

    fn p50_s(&self) -> f64 {
        self.nanos.value_at_quantile(0.5) as f64 / 1e9
    }
}

impl Default for Recent {
    fn default() -> Self {
        Recent {
            epoch: Instant::now(),
            profile: Arc::from(""),
            point: Slot::new(),
            history: VecDeque::new(),
            window: Slot::new(),
            window_before: Slot::new(),
        }
    }
}

impl Recent {
    /// Adds a sample that was done at `at`. A new profile begins new quantiles; the history goes on.
    pub(super) fn add(&mut self, at: Instant, profile: &Arc<str>, service: Duration) {
        if *profile != self.profile {
            self.profile = Arc::clone(profile);
            self.window.nanos.reset();
            self.window_before.nanos.reset();
        }
        self.turn(at);
        let nanos = u64::try_from(service.as_nanos()).unwrap_or(u64::MAX);
        // The histograms grow as needed; only a value beyond u64 nanoseconds has no place.
        let _ = self.point.nanos.record(nanos);
        let _ = self.window.nanos.record(nanos);
    }

    /// Closes what ended before `now`. A sample from before that, of another lane, counts where the clock is now.
    fn turn(&mut self, now: Instant) {
        let now_s = now.saturating_duration_since(self.epoch).as_secs();
        let point = now_s / POINT_SECONDS;
        if point > self.point.number {
            if !self.point.nanos.is_empty() {
                let begin = self.point.number * POINT_SECONDS;
                self.history.push_back((begin, self.point.p50_s()));
            }
            let oldest = (point * POINT_SECONDS).saturating_sub(HISTORY_SECONDS);
            while self.history.front().is_some_and(|(at, _)| *at < oldest) {
                self.history.pop_front();
            }
            self.point.begin(point);
        }
        let window = now_s / WINDOW_SECONDS;
        if window > self.window.number {
            std::mem::swap(&mut self.window, &mut self.window_before);
            if window > self.window_before.number + 1 {
                self.window_before.nanos.reset();
            }
            self.window.begin(window);
        }
    }

    /// What it looks like at `now`; `None` where nothing was measured in the time it covers.
    pub(super) fn snapshot(
        &mut self,
        now: Instant,
        target: &str,
        workload: &str,
        position: Position,
    ) -> Option<Snapshot> {
        self.turn(now);
        let mut nanos = self.window_before.nanos.clone();
        // Both have the same precision and grow as needed.
        nanos.add(&self.window.nanos).ok()?;
        let quantile_s = |quantile| nanos.value_at_quantile(quantile) as f64 / 1e9;
        let quantiles = (!nanos.is_empty()).then(|| Quantiles {
            p50_s: quantile_s(0.5),
            p99_s: quantile_s(0.99),
        });
        let now_s = now.saturating_duration_since(self.epoch).as_secs_f64();
        let ago = |(at, p50_s): &(u64, f64)| (now_s - *at as f64, *p50_s);
        (quantiles.is_some() || !self.history.is_empty()).then(|| Snapshot {
            target: target.to_owned(),
            workload: workload.to_owned(),
            position: position.label(),
            profile: self.profile.to_string(),
            count: nanos.len(),
            quantiles,
            history: self.history.iter().map(ago).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `second` as the present.
    fn at(recent: &Recent, second: u64) -> Instant {
        recent.epoch + Duration::from_secs(second)
    }

    fn add(recent: &mut Recent, second: u64, profile: &str, service: Duration) {
        recent.add(at(recent, second), &Arc::from(profile), service);
    }

    fn shown(recent: &mut Recent, second: u64) -> Option<Snapshot> {
        recent.snapshot(at(recent, second), "t", "w", Position::First)
    }

    fn count(recent: &mut Recent, second: u64) -> u64 {
        shown(recent, second).unwrap().count
    }

    #[test]
    fn quantiles_are_exact_to_three_digits() {
        let mut recent = Recent::default();
        for micros in 1..=1000 {
            add(&mut recent, 600, "a", Duration::from_micros(micros));
        }
        let shown = shown(&mut recent, 600).unwrap();
        assert_eq!(shown.count, 1000);
        let Quantiles { p50_s, p99_s } = shown.quantiles.unwrap();
        assert!((p50_s / 500e-6 - 1.0).abs() < 1e-3, "{p50_s}");
        assert!((p99_s / 990e-6 - 1.0).abs() < 1e-3, "{p99_s}");
    }

    #[test]
    fn the_history_has_a_point_each_five_seconds_and_is_bounded() {
        let mut recent = Recent::default();
        for second in 1000..2000 {
            add(&mut recent, second, "a", Duration::from_micros(30));
        }
        let history = shown(&mut recent, 1999).unwrap().history;
        assert_eq!(history.len(), 120);
        assert_eq!(history[119].0, 9.0);
        assert!(history.windows(2).all(|pair| pair[0].0 - pair[1].0 == 5.0));
    }

    /// An outage of hours made the chart hours long, and pressed what came after it into its last pixel.
    #[test]
    fn a_point_from_before_a_long_silence_leaves_the_history() {
        let mut recent = Recent::default();
        for second in [0, 5, 30_000, 30_005, 30_010] {
            add(&mut recent, second, "a", Duration::from_micros(30));
        }
        let history = shown(&mut recent, 30_010).unwrap().history;
        let ages: Vec<f64> = history.iter().map(|(age, _)| *age).collect();
        assert_eq!(ages, [10.0, 5.0]);
    }

    #[test]
    fn quantiles_forget_what_is_older_than_two_minutes_and_other_profiles() {
        let mut recent = Recent::default();
        let short = Duration::from_micros(30);
        add(&mut recent, 600, "a", Duration::from_millis(900));
        add(&mut recent, 660, "a", short);
        assert_eq!(count(&mut recent, 660), 2);
        add(&mut recent, 720, "a", short);
        assert_eq!(count(&mut recent, 720), 2);
        add(&mut recent, 6000, "a", short);
        assert_eq!(count(&mut recent, 6000), 1);
        add(&mut recent, 6000, "b", short);
        let shown = shown(&mut recent, 6000).unwrap();
        assert_eq!((shown.count, shown.profile.as_str()), (1, "b"));
    }

    /// Only a new sample made the minutes pass, so a database that was down for a day looked as fast as ever.
    #[test]
    fn a_database_that_stopped_answering_is_not_shown_with_its_last_figures_for_ever() {
        let mut recent = Recent::default();
        add(&mut recent, 600, "a", Duration::from_micros(30));
        assert!(shown(&mut recent, 650).unwrap().quantiles.is_some());
        let later = shown(&mut recent, 720).unwrap();
        assert_eq!((later.count, later.quantiles), (0, None));
        assert_eq!(later.history.len(), 1);
        assert_eq!(shown(&mut recent, 1300), None);
    }
}

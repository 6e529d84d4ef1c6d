//! The last minutes of one position of a workload, exact, for a page to show.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;

use crate::runner::Position;

/// One point of the history covers this many seconds.
const POINT_SECONDS: u64 = 5;
/// How many points are kept: ten minutes.
const POINTS: usize = 120;
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
    /// Median service time in seconds.
    pub p50_s: f64,
    /// 99th percentile of the service time in seconds.
    pub p99_s: f64,
    /// Medians of five seconds each over the last ten minutes: unix time in seconds, seconds.
    pub history: Vec<(u64, f64)>,
}

/// Service times as they come in.
#[derive(Debug)]
pub(super) struct Recent {
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
    pub(super) fn add(&mut self, at: SystemTime, profile: &Arc<str>, service: Duration) {
        let unix_s = at
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        if *profile != self.profile {
            self.profile = Arc::clone(profile);
            self.window.nanos.reset();
            self.window_before.nanos.reset();
        }
        self.turn(unix_s);
        let nanos = u64::try_from(service.as_nanos()).unwrap_or(u64::MAX);
        // The histograms grow as needed; only a value beyond u64 nanoseconds has no place.
        let _ = self.point.nanos.record(nanos);
        let _ = self.window.nanos.record(nanos);
    }

    /// Closes what ended before `unix_s`. A sample from before that, of another lane, counts where the clock is now.
    fn turn(&mut self, unix_s: u64) {
        let point = unix_s / POINT_SECONDS;
        if point > self.point.number {
            if !self.point.nanos.is_empty() {
                let begin = self.point.number * POINT_SECONDS;
                self.history.push_back((begin, self.point.p50_s()));
            }
            while self.history.len() > POINTS {
                self.history.pop_front();
            }
            self.point.begin(point);
        }
        let window = unix_s / WINDOW_SECONDS;
        if window > self.window.number {
            std::mem::swap(&mut self.window, &mut self.window_before);
            if window > self.window_before.number + 1 {
                self.window_before.nanos.reset();
            }
            self.window.begin(window);
        }
    }

    /// What it looks like now; `None` without samples.
    pub(super) fn snapshot(
        &self,
        target: &str,
        workload: &str,
        position: Position,
    ) -> Option<Snapshot> {
        let mut nanos = self.window_before.nanos.clone();
        // Both have the same precision and grow as needed.
        nanos.add(&self.window.nanos).ok()?;
        let quantile_s = |quantile| nanos.value_at_quantile(quantile) as f64 / 1e9;
        (!nanos.is_empty()).then(|| Snapshot {
            target: target.to_owned(),
            workload: workload.to_owned(),
            position: position.label(),
            profile: self.profile.to_string(),
            count: nanos.len(),
            p50_s: quantile_s(0.5),
            p99_s: quantile_s(0.99),
            history: self.history.iter().copied().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(unix_s: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s)
    }

    fn shown(recent: &Recent) -> Snapshot {
        recent.snapshot("t", "w", Position::First).unwrap()
    }

    #[test]
    fn quantiles_are_exact_to_three_digits() {
        let mut recent = Recent::default();
        for micros in 1..=1000 {
            recent.add(at(600), &Arc::from("a"), Duration::from_micros(micros));
        }
        let shown = shown(&recent);
        assert_eq!(shown.count, 1000);
        assert!((shown.p50_s / 500e-6 - 1.0).abs() < 1e-3, "{}", shown.p50_s);
        assert!((shown.p99_s / 990e-6 - 1.0).abs() < 1e-3, "{}", shown.p99_s);
    }

    #[test]
    fn the_history_has_a_point_each_five_seconds_and_is_bounded() {
        let mut recent = Recent::default();
        for unix_s in 1000..2000 {
            recent.add(at(unix_s), &Arc::from("a"), Duration::from_micros(30));
        }
        let history = shown(&recent).history;
        assert_eq!(history.len(), POINTS);
        assert_eq!(history[POINTS - 1].0, 1990);
        assert!(history.windows(2).all(|pair| pair[1].0 - pair[0].0 == 5));
    }

    #[test]
    fn quantiles_forget_what_is_older_than_two_minutes_and_other_profiles() {
        let mut recent = Recent::default();
        let profile = Arc::from("a");
        recent.add(at(600), &profile, Duration::from_millis(900));
        recent.add(at(660), &profile, Duration::from_micros(30));
        assert_eq!(shown(&recent).count, 2);
        recent.add(at(720), &profile, Duration::from_micros(30));
        assert_eq!(shown(&recent).count, 2);
        recent.add(at(6000), &profile, Duration::from_micros(30));
        assert_eq!(shown(&recent).count, 1);
        recent.add(at(6000), &Arc::from("b"), Duration::from_micros(30));
        assert_eq!(
            (shown(&recent).count, shown(&recent).profile.as_str()),
            (1, "b")
        );
    }
}

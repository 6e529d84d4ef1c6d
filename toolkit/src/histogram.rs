//! Latency histograms: one layout for every latency this project publishes, with classic buckets for everyone and
//! native ones for who asks in protobuf.

mod native;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus::core::Metric as _;
use prometheus::{HistogramOpts, proto};

use self::native::Native;

/// Upper bounds in seconds: 10 a decade from 100 ns to 1 us, 20 a decade to 1 ms, 10 a decade to 10 ms, 5 a decade to
/// 10 s.
///
/// 20 a decade are 12 % apart: a shift of 10 % at 35 us shows as 10 %. The layout starts far below what a server needs
/// since an embedded database answers in 0.4 to 10 us, and a distribution that lies whole in the first bucket has no
/// percentiles.
pub fn bounds() -> Vec<f64> {
    let decades = [
        (1e-7, 10, 10), // 100 ns .. 1 us
        (1e-6, 20, 60), // 1 us .. 1 ms
        (1e-3, 10, 10), // 1 ms .. 10 ms
        (1e-2, 5, 15),  // 10 ms .. 10 s
    ];
    let mut bounds = vec![1e-7];
    for (start, per_decade, steps) in decades {
        bounds.extend((1..=steps).map(|step| {
            let bound: f64 = start * 10f64.powf(f64::from(step) / f64::from(per_decade));
            four_digits(bound)
        }));
    }
    bounds
}

/// Rounds to four significant digits, so that `le` labels stay short and the same on every build.
fn four_digits(bound: f64) -> f64 {
    format!("{bound:.3e}").parse().unwrap_or(bound)
}

/// A latency distribution that grows over the life of the program. A clone is the same distribution.
#[derive(Debug, Clone)]
pub struct Latency(Arc<Mutex<Distribution>>);

/// Both kinds of buckets, under one lock: Prometheus refuses a histogram whose native buckets do not add up to its
/// count.
#[derive(Debug)]
struct Distribution {
    classic: prometheus::Histogram,
    native: Native,
}

impl Latency {
    /// An empty distribution with [`bounds`].
    pub fn new() -> Self {
        let opts = HistogramOpts::new("latency", "Replaced by the metric it is put under.");
        match prometheus::Histogram::with_opts(opts.buckets(bounds())) {
            Ok(classic) => Latency(Arc::new(Mutex::new(Distribution {
                classic,
                native: Native::default(),
            }))),
            Err(error) => unreachable!("constant bounds are sorted and finite: {error}"),
        }
    }

    /// Counts one observation of `seconds`.
    pub fn observe(&self, seconds: f64) {
        let mut distribution = self.lock();
        distribution.classic.observe(seconds);
        distribution.native.observe(seconds);
    }

    /// How many observations were counted.
    pub fn count(&self) -> u64 {
        self.lock().classic.get_sample_count()
    }

    /// The distribution so far, for a sink: classic buckets in the fields every encoder knows, native ones in those
    /// that only protobuf carries.
    pub fn to_proto(&self) -> proto::Histogram {
        let distribution = self.lock();
        let mut histogram = distribution.classic.metric().histogram.unwrap_or_default();
        distribution.native.write(&mut histogram);
        histogram
    }

    fn lock(&self) -> MutexGuard<'_, Distribution> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The p-quantile as Prometheus computes it from classic buckets: linear inside a bucket.
    fn quantile(samples: &[f64], q: f64) -> f64 {
        let bounds = bounds();
        let rank = q * samples.len() as f64;
        let (mut below, mut lower) = (0.0, 0.0);
        for bound in bounds {
            let upto = samples.iter().filter(|s| **s <= bound).count() as f64;
            if upto >= rank {
                return lower + (bound - lower) * (rank - below) / (upto - below);
            }
            (below, lower) = (upto, bound);
        }
        lower
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let bounds = bounds();
        assert_eq!(bounds.len(), 96);
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        for round in [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0] {
            assert!(bounds.contains(&round), "{round}");
        }
    }

    /// A layout of 5 ms steps would report 0 %.
    #[test]
    fn a_ten_percent_shift_at_35_us_is_reported_as_ten_percent() {
        // A triangular distribution around 35 us, wide as a hot query's is.
        let samples: Vec<f64> = (0..20_000u32)
            .map(|i| {
                let (a, b) = (f64::from(i % 141) / 141.0, f64::from(i / 141) / 141.0);
                35e-6 * (1.0 + 0.25 * (a + b - 1.0))
            })
            .collect();
        let shifted: Vec<f64> = samples.iter().map(|s| s * 1.1).collect();
        let ratio = quantile(&shifted, 0.5) / quantile(&samples, 0.5);
        assert!((1.095..1.105).contains(&ratio), "{ratio}");
    }

    #[test]
    fn observations_are_counted_once_each() {
        let latency = Latency::new();
        latency.observe(35e-6);
        latency.observe(100.0);
        assert_eq!(latency.count(), 2);
        let proto = latency.to_proto();
        assert_eq!(proto.get_sample_count(), 2);
        assert_eq!(
            proto.get_bucket().last().map(|b| b.cumulative_count()),
            Some(1)
        );
    }
}

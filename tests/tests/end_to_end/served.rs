//! What Prometheus knows of both programs.

use std::time::{Duration, Instant};

use tests::program::Program;
use tests::prometheus::{Prometheus, Series};

/// Everything asked for has to be there within this; a slow machine needs some of it, a good one 10 s.
const PATIENCE: Duration = Duration::from_secs(90);

/// What Prometheus knows of both programs.
pub(crate) struct Served<'a>(
    pub(crate) Prometheus,
    pub(crate) &'a Program,
    pub(crate) &'a Program,
);

impl Served<'_> {
    /// The value of a query that has one.
    pub(crate) fn value(&self, query: &str) -> f64 {
        self.wait_for_value(query, |_| true)
    }

    pub(crate) fn wait_for_value(&self, query: &str, wanted: impl Fn(f64) -> bool) -> f64 {
        let one = |series: &[Series]| matches!(series, [one] if wanted(one.value));
        self.wait_for(query, "a value", one)[0].value
    }

    /// Asks again and again until the answer is as `wanted`.
    pub(crate) fn wait_for(
        &self,
        query: &str,
        what: &str,
        wanted: impl Fn(&[Series]) -> bool,
    ) -> Vec<Series> {
        let started = Instant::now();
        loop {
            let answer = self.0.query(query);
            if let Ok(series) = &answer
                && wanted(series)
            {
                return series.clone();
            }
            assert!(
                started.elapsed() < PATIENCE,
                "{what}: {query}\ngives nothing of the kind: {answer:?}\nprobe:\n{}\nexporter:\n{}",
                self.1.log(),
                self.2.log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

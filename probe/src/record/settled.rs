//! Samples with their stamp: a histogram of each time for each position and profile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use toolkit::histogram::Latency;
use toolkit::metric::Sink;

use super::recent::{Recent, Snapshot};
use super::stamp::{self, Readings};
use super::{Pending, metrics};
use crate::runner::Position;

/// How many profiles get histograms of their own, since each is 350 series; any further one is `other`.
pub(super) const MAX_PROFILES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Settled {
    readings: Readings,
    series: BTreeMap<(Position, Arc<str>), Series>,
    recent: BTreeMap<Position, Recent>,
}

#[derive(Debug, Default)]
struct Series {
    service: Latency,
    response: Latency,
}

impl Settled {
    /// Stamps samples that were done before the reading that has just ended with `profile`.
    pub(super) fn confirm(&mut self, ready: &[Pending], profile: Option<&str>) {
        let profile = profile.map(|name| self.known_profile(name));
        for sample in ready {
            let stamp = self.readings.stamp(profile.as_ref(), sample.started);
            self.settle(sample, stamp);
        }
        self.readings.push(Instant::now(), profile);
    }

    /// Takes a sample that can wait no longer.
    pub(super) fn give_up(&mut self, sample: &Pending) {
        self.settle(sample, Arc::from(stamp::UNKNOWN));
    }

    fn settle(&mut self, sample: &Pending, profile: Arc<str>) {
        let recent = self.recent.entry(sample.position).or_default();
        recent.add(sample.done, &profile, sample.service);
        let series = self.series.entry((sample.position, profile)).or_default();
        series.service.observe(sample.service.as_secs_f64());
        series.response.observe(sample.response.as_secs_f64());
    }

    /// The name a profile is recorded under.
    fn known_profile(&self, name: &str) -> Arc<str> {
        let names = self.series.keys().map(|(_, profile)| profile);
        if let Some(known) = names.clone().find(|known| &***known == name) {
            return Arc::clone(known);
        }
        let mut distinct: Vec<&Arc<str>> =
            names.filter(|known| !stamp::is_reserved(known)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        Arc::from(if distinct.len() < MAX_PROFILES {
            name
        } else {
            stamp::OTHER
        })
    }

    pub(super) fn emit(&self, [target, node, workload]: [&str; 3], out: &mut Sink) {
        for ((position, profile), series) in &self.series {
            let labels = [target, node, workload, position.label(), profile];
            out.put_histogram(&metrics::SERVICE, labels, series.service.to_proto());
            out.put_histogram(&metrics::RESPONSE, labels, series.response.to_proto());
        }
    }

    pub(super) fn snapshots(&mut self, target: &str, workload: &str) -> Vec<Snapshot> {
        let now = Instant::now();
        let of = |(position, recent): (&Position, &mut Recent)| {
            recent.snapshot(now, target, workload, *position)
        };
        self.recent.iter_mut().filter_map(of).collect()
    }
}

//! From what a lane saw to what is published: counters at once, latencies stamped with the profile they ran under.
//!
//! A sample says nothing about a setting until the host's profile has been read before and after it, so samples wait
//! in a bounded queue for the next reading; [`stamp`] says what they get. Histograms exist for each position and
//! profile, and the number of profiles is bounded, since each is a whole histogram.

pub mod metrics;
pub mod recent;
mod stamp;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use toolkit::histogram::Latency;
use toolkit::metric::Sink;

use self::recent::{Recent, Snapshot};
use self::stamp::Readings;
use crate::engine::{Failure, Outcome, Peer, Phases};
use crate::runner::{Observer, Position, Sample};

/// How many samples wait for a reading of the profile: over five minutes of the busiest preset, and 4 MB.
const MAX_PENDING: usize = 65_536;

/// How many profiles get histograms of their own; any further one is `other`.
const MAX_PROFILES: usize = 32;

/// Everything about one workload on one target.
#[derive(Debug)]
pub struct Recorder {
    target: String,
    node: String,
    workload: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    outcomes: BTreeMap<&'static str, u64>,
    dropped: u64,
    reconnects: u64,
    warm_ups: u64,
    phases: BTreeMap<&'static str, Latency>,
    timer_lag: Latency,
    readings: Readings,
    pending: VecDeque<Pending>,
    series: BTreeMap<(Position, Arc<str>), Series>,
    recent: BTreeMap<Position, Recent>,
    last: Option<Outcome>,
    peer: Option<Peer>,
}

/// A sample whose profile is not known yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    started: Instant,
    done: Instant,
    service: Duration,
    response: Duration,
    position: Position,
}

#[derive(Debug, Default)]
struct Series {
    service: Latency,
    response: Latency,
}

impl Recorder {
    /// The recorder of `workload` on `target`, whose CPUs are those of `node`. Every outcome is there from now on.
    pub fn new(target: &str, node: &str, workload: &str) -> Self {
        let zeros = Outcome::ALL.map(|outcome| (outcome.label(), 0));
        Recorder {
            target: target.to_owned(),
            node: node.to_owned(),
            workload: workload.to_owned(),
            state: Mutex::new(State {
                outcomes: zeros.into_iter().collect(),
                ..State::default()
            }),
        }
    }

    /// Label `workload`.
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// Whether the last query was answered; `None` before the first.
    pub fn is_up(&self) -> Option<bool> {
        // A refused statement is an answer too, but not one anybody can work with.
        self.lock()
            .last
            .map(|last| matches!(last, Outcome::Ok | Outcome::ClientLate))
    }

    /// What the other side is; `None` before the first connect.
    pub fn peer(&self) -> Option<Peer> {
        self.lock().peer.clone()
    }

    /// Stamps the samples that were done before the reading of the profile that began at `read_started` and has just
    /// ended; `None` says that it failed.
    pub fn confirm(&self, read_started: Instant, profile: Option<&str>) {
        let mut state = self.lock();
        let profile = profile.map(|name| state.known_profile(name));
        let (now, unix_now) = (Instant::now(), SystemTime::now());
        // Lanes queue in the order they get here, which is that of `done` but for microseconds: one that has to wait
        // for the next reading gets the stamp of a sample that was under way.
        let done = |sample: &&Pending| sample.done < read_started;
        let ready = state.pending.iter().take_while(done).count();
        let ready: Vec<Pending> = state.pending.drain(..ready).collect();
        for sample in ready {
            let stamp = state.readings.stamp(profile.as_ref(), sample.started);
            let at = unix_now - now.saturating_duration_since(sample.done);
            state.settle(sample, stamp, at);
        }
        state.readings.push(now, profile);
    }

    /// Publishes everything but what concerns the whole target.
    pub fn emit(&self, out: &mut Sink) {
        let state = self.lock();
        let [t, n, w] = [&*self.target, &*self.node, &*self.workload];
        for ((position, profile), series) in &state.series {
            let labels = [t, n, w, position.label(), &**profile];
            out.put_histogram(&metrics::SERVICE, labels, series.service.to_proto());
            out.put_histogram(&metrics::RESPONSE, labels, series.response.to_proto());
        }
        for (phase, latency) in &state.phases {
            out.put_histogram(&metrics::PHASE, [t, n, w, phase], latency.to_proto());
        }
        if state.timer_lag.count() > 0 {
            out.put_histogram(&metrics::TIMER_LAG, [t, n, w], state.timer_lag.to_proto());
        }
        for (outcome, count) in &state.outcomes {
            out.put(&metrics::QUERIES, [t, n, w, outcome], *count as f64);
        }
        out.put(&metrics::WARM_UPS, [t, n, w], state.warm_ups as f64);
        out.put(&metrics::DROPPED, [t, n, w], state.dropped as f64);
        out.put(&metrics::RECONNECTS, [t, n, w], state.reconnects as f64);
    }

    /// What a page shows: one for each position asked so far.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let state = self.lock();
        let of = |(position, recent): (&Position, &Recent)| {
            recent.snapshot(&self.target, &self.workload, *position)
        };
        state.recent.iter().filter_map(of).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is counted stays counted, whoever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how a query ended, and logs where that is different from the one before.
    fn ended(&self, state: &mut State, outcome: Outcome, message: &str) {
        let (target, workload) = (&*self.target, &*self.workload);
        let good = |outcome| matches!(outcome, Outcome::Ok | Outcome::ClientLate);
        if good(outcome) && state.last.is_some_and(|last| !good(last)) {
            tracing::info!(target, workload, "answers again");
        } else if !good(outcome) && state.last != Some(outcome) {
            let result = outcome.label();
            tracing::warn!(target, workload, result, message, "no answer");
        }
        state.last = Some(outcome);
    }
}

impl State {
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

    fn settle(&mut self, sample: Pending, profile: Arc<str>, at: SystemTime) {
        let recent = self.recent.entry(sample.position).or_default();
        recent.add(at, &profile, sample.service);
        let series = self.series.entry((sample.position, profile)).or_default();
        series.service.observe(sample.service.as_secs_f64());
        series.response.observe(sample.response.as_secs_f64());
    }

    fn phase(&mut self, phase: &'static str, span: Duration) {
        let latency = self.phases.entry(phase).or_default();
        latency.observe(span.as_secs_f64());
    }

    fn count(&mut self, outcome: Outcome) {
        *self.outcomes.entry(outcome.label()).or_default() += 1;
    }
}

impl Observer for Recorder {
    fn connected(&self, peer: &Peer, phases: &Phases, again: bool) {
        let mut state = self.lock();
        for (phase, span) in phases.reached() {
            state.phase(phase, span);
        }
        state.reconnects += u64::from(again);
        state.peer = Some(peer.clone());
    }

    fn unconnected(&self, phases: &Phases, failure: &Failure) {
        let mut state = self.lock();
        for (phase, span) in phases.reached() {
            state.phase(phase, span);
        }
        // The query of that start could not be asked, for this reason.
        state.count(failure.outcome);
        self.ended(&mut state, failure.outcome, &failure.message);
    }

    fn warmed_up(&self) {
        let mut state = self.lock();
        state.warm_ups += 1;
        self.ended(&mut state, Outcome::Ok, "");
    }

    fn answered(&self, sample: &Sample) {
        let mut state = self.lock();
        state.count(Outcome::Ok);
        self.ended(&mut state, Outcome::Ok, "");
        let started = sample.timings.started;
        let since = |at: Instant| at.saturating_duration_since(started);
        if let Some(first_row) = sample.timings.first_row {
            state.phase("first_row", since(first_row));
        }
        if let Some(last_row) = sample.timings.last_row {
            state.phase("last_row", since(last_row));
        }
        if state.pending.len() == MAX_PENDING
            && let Some(oldest) = state.pending.pop_front()
        {
            let at = SystemTime::now() - oldest.done.elapsed();
            state.settle(oldest, Arc::from(stamp::UNKNOWN), at);
        }
        state.pending.push_back(Pending {
            started,
            done: sample.timings.done,
            service: sample.service(),
            response: sample.response(),
            position: sample.position,
        });
    }

    fn failed(&self, failure: &Failure) {
        let mut state = self.lock();
        state.count(failure.outcome);
        self.ended(&mut state, failure.outcome, &failure.message);
    }

    fn dropped(&self, starts: u64) {
        self.lock().dropped += starts;
    }

    fn woke(&self, lag: Duration) {
        self.lock().timer_lag.observe(lag.as_secs_f64());
    }
}

#[cfg(test)]
mod tests;

//! Every sample of one lane, kept exactly.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::engine::{Failure, Outcome, Peer, Phases};
use crate::runner::{Observer, Sample, WARM_UP};

/// The observer of one lane. Each lane has its own, so that they do not wait for each other.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<State>);

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// The time that counts.
    measured: Option<(Instant, Instant)>,
    /// Successful queries after the warm-up, counted or not.
    answered: u64,
    failed: u32,
    /// Service times in nanoseconds: three digits.
    pub(super) nanos: Histogram<u64>,
    pub(super) sum_ns: u128,
    pub(super) sum_of_squares_ns2: u128,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    /// Failures in the time that counts.
    pub(super) errors: u64,
    pub(super) failure: Option<Failure>,
    /// The phases of every successful connect.
    pub(super) connects: Vec<Phases>,
    pub(super) peer: Option<Peer>,
}

impl Default for State {
    fn default() -> Self {
        let nanos = match Histogram::new(3) {
            Ok(nanos) => nanos,
            Err(error) => unreachable!("three digits are allowed: {error}"),
        };
        State {
            measured: None,
            answered: 0,
            failed: 0,
            nanos,
            sum_ns: 0,
            sum_of_squares_ns2: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            errors: 0,
            failure: None,
            connects: Vec::new(),
            peer: None,
        }
    }
}

impl State {
    fn counts(&self, started: Instant, done: Instant) -> bool {
        self.measured
            .is_some_and(|(begin, end)| begin <= started && done <= end)
    }

    pub(super) fn add(&mut self, service: Duration) {
        let ns = u64::try_from(service.as_nanos()).unwrap_or(u64::MAX);
        // The histogram grows as needed.
        let _ = self.nanos.record(ns);
        self.sum_ns += u128::from(ns);
        self.sum_of_squares_ns2 += u128::from(ns) * u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    fn failed(&mut self, failure: &Failure) {
        let now = Instant::now();
        self.errors += u64::from(self.counts(now, now));
        self.failed += 1;
        self.failure = Some(failure.clone());
    }
}

impl Tally {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the lane measures.
    pub(super) fn is_warm(&self) -> bool {
        self.state().answered > 0
    }

    /// Whether the lane has seen nothing but failures, and enough of them: no connection, or no answer as often as a
    /// warm-up has queries.
    pub(super) fn is_hopeless(&self) -> bool {
        let state = self.state();
        let unconnected = state.connects.is_empty() && state.failed > 0;
        unconnected || (state.answered == 0 && state.failed >= WARM_UP)
    }

    /// Counts what happens from `begin` to `end`.
    pub(super) fn measure(&self, begin: Instant, end: Instant) {
        self.state().measured = Some((begin, end));
    }

    /// All lanes as one.
    pub(super) fn merge(tallies: &[Arc<Tally>]) -> State {
        let mut merged = State::default();
        for tally in tallies {
            let state = tally.state();
            // Both grow as needed and have the same precision.
            let _ = merged.nanos.add(&state.nanos);
            merged.sum_ns += state.sum_ns;
            merged.sum_of_squares_ns2 += state.sum_of_squares_ns2;
            merged.min_ns = merged.min_ns.min(state.min_ns);
            merged.max_ns = merged.max_ns.max(state.max_ns);
            merged.errors += state.errors;
            merged.connects.extend(&state.connects);
            merged.failure = merged.failure.or_else(|| state.failure.clone());
            merged.peer = merged.peer.or_else(|| state.peer.clone());
        }
        merged
    }
}

impl Observer for Tally {
    fn connected(&self, peer: &Peer, phases: &Phases, _again: bool) {
        let mut state = self.state();
        state.connects.push(*phases);
        state.peer = Some(peer.clone());
    }

    fn unconnected(&self, _phases: &Phases, failure: &Failure) {
        self.state().failed(failure);
    }

    fn warmed_up(&self) {}

    fn answered(&self, sample: &Sample) {
        let mut state = self.state();
        state.answered += 1;
        if state.counts(sample.timings.started, sample.timings.done) {
            state.add(sample.service());
        }
    }

    fn failed(&self, failure: &Failure) {
        // A closed loop has no schedule to be late for.
        debug_assert_ne!(failure.outcome, Outcome::ClientLate);
        self.state().failed(failure);
    }

    fn dropped(&self, _starts: u64) {}

    fn woke(&self, _lag: Duration) {}
}

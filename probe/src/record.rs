//! From what a lane saw to what is published: counters at once, latencies stamped with the profile they ran under.
//!
//! A sample says nothing about a setting until the host's profile has been read before and after it, so samples wait
//! in a bounded queue for the next reading; `stamp` says what they get. Lanes and readers meet at two locks: lanes
//! take the one for counters and the queue, which nobody holds for longer than a copy, so that a scrape of many
//! histograms delays no query.

pub mod metrics;
pub mod recent;
mod settled;
mod stamp;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolkit::histogram::Latency;
use toolkit::metric::Sink;

use self::recent::Snapshot;
use self::settled::Settled;
use crate::engine::{Failure, Outcome, Peer, Phases};
use crate::runner::{Observer, Position, Sample};

/// How many samples wait for a reading of the profile: what a closed loop against an embedded database brings between
/// two readings, a second apart, and 20 MB. Nothing else comes near it.
const MAX_PENDING: usize = 1 << 18;

/// For this long after a change was logged no other one is: a server that breaks every other query would fill the disk.
/// What lasts is logged by the first query after it.
const QUIET: Duration = Duration::from_secs(10);

/// Everything about one workload on one target.
#[derive(Debug)]
pub struct Recorder {
    target: String,
    node: String,
    workload: String,
    live: Mutex<Live>,
    settled: Mutex<Settled>,
}

/// A workload whose last query was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// Label `target`.
    pub target: String,
    /// Label `workload`.
    pub workload: String,
    /// Label `result`.
    pub result: &'static str,
}

/// What lanes write.
#[derive(Debug, Default)]
struct Live {
    seen: Seen,
    pending: VecDeque<Pending>,
}

/// What is published as it is. A clone shares its histograms, and so costs little.
#[derive(Debug, Default, Clone)]
struct Seen {
    outcomes: BTreeMap<&'static str, u64>,
    warm_ups: u64,
    dropped: u64,
    reconnects: u64,
    phases: BTreeMap<&'static str, Latency>,
    timer_lag: Latency,
    last: Option<Outcome>,
    /// What was logged last, and when; nothing as long as every query was answered.
    told: Option<(Outcome, Instant)>,
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

impl Recorder {
    /// The recorder of `workload` on `target`, whose CPUs are those of `node`. Every outcome is there from now on.
    pub fn new(target: &str, node: &str, workload: &str) -> Self {
        let zeros = Outcome::ALL.map(|outcome| (outcome.label(), 0));
        let seen = Seen {
            outcomes: zeros.into_iter().collect(),
            ..Seen::default()
        };
        Recorder {
            target: target.to_owned(),
            node: node.to_owned(),
            workload: workload.to_owned(),
            live: Mutex::new(Live {
                seen,
                pending: VecDeque::new(),
            }),
            settled: Mutex::new(Settled::default()),
        }
    }

    /// Label `workload`.
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// Whether the last query was answered; `None` before the first.
    pub fn is_up(&self) -> Option<bool> {
        self.live().seen.last.map(is_answer)
    }

    /// What the other side is; `None` before the first connect.
    pub fn peer(&self) -> Option<Peer> {
        self.live().seen.peer.clone()
    }

    /// Stamps the samples that were done before the reading of the profile that began at `read_started` and has just
    /// ended; `None` says that it failed.
    pub fn confirm(&self, read_started: Instant, profile: Option<&str>) {
        let ready: Vec<Pending> = {
            let pending = &mut self.live().pending;
            // Lanes queue in the order they get here, which is that of `done` but for microseconds: one that has to
            // wait for the next reading gets the stamp of a sample that was under way.
            let done = |sample: &&Pending| sample.done < read_started;
            let ready = pending.iter().take_while(done).count();
            pending.drain(..ready).collect()
        };
        self.settled().confirm(&ready, profile);
    }

    /// Publishes everything but what concerns the whole target.
    pub fn emit(&self, out: &mut Sink) {
        let [t, n, w] = [&*self.target, &*self.node, &*self.workload];
        self.settled().emit([t, n, w], out);
        let seen = self.live().seen.clone();
        for (phase, latency) in &seen.phases {
            out.put_histogram(&metrics::PHASE, [t, n, w, phase], latency.to_proto());
        }
        if seen.timer_lag.count() > 0 {
            out.put_histogram(&metrics::TIMER_LAG, [t, n, w], seen.timer_lag.to_proto());
        }
        for (outcome, count) in &seen.outcomes {
            out.put(&metrics::QUERIES, [t, n, w, outcome], *count as f64);
        }
        out.put(&metrics::WARM_UPS, [t, n, w], seen.warm_ups as f64);
        out.put(&metrics::DROPPED, [t, n, w], seen.dropped as f64);
        out.put(&metrics::RECONNECTS, [t, n, w], seen.reconnects as f64);
    }

    /// How the last query ended, where that was no answer.
    pub fn failing(&self) -> Option<Failing> {
        let last = self.live().seen.last.filter(|last| !is_answer(*last))?;
        Some(Failing {
            target: self.target.clone(),
            workload: self.workload.clone(),
            result: last.label(),
        })
    }

    /// What a page shows: one for each position that was answered in the last ten minutes.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.settled().snapshots(&self.target, &self.workload)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // What is counted stays counted, whoever panicked.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settled(&self) -> MutexGuard<'_, Settled> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how a query ended, and logs where that is different from what was logged last.
    fn ended(&self, outcome: Outcome, message: &str) {
        if !self.live().seen.end(outcome, Instant::now()) {
            return;
        }
        let (target, workload) = (&*self.target, &*self.workload);
        if is_answer(outcome) {
            tracing::info!(target, workload, "answers again");
        } else {
            let result = outcome.label();
            tracing::warn!(target, workload, result, message, "no answer");
        }
    }
}

/// Whether the database answered. A refused statement is an answer too, but not one anybody can work with; and where
/// the probe was late, the database was not.
fn is_answer(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Ok | Outcome::ClientLate)
}

impl Seen {
    /// Notes how a query ended at `now`; whether that is to be logged.
    fn end(&mut self, outcome: Outcome, now: Instant) -> bool {
        self.last = Some(outcome);
        let is_news = match self.told {
            None => !is_answer(outcome),
            Some((told, _)) if is_answer(told) => !is_answer(outcome),
            Some((told, _)) => told != outcome,
        };
        let is_soon = |(_, at)| now.saturating_duration_since(at) < QUIET;
        let tell = is_news && !self.told.is_some_and(is_soon);
        if tell {
            self.told = Some((outcome, now));
        }
        tell
    }

    fn count(&mut self, outcome: Outcome) {
        *self.outcomes.entry(outcome.label()).or_default() += 1;
    }

    fn phase(&mut self, phase: &'static str, span: Duration) {
        let latency = self.phases.entry(phase).or_default();
        latency.observe(span.as_secs_f64());
    }

    fn connect(&mut self, phases: &Phases) {
        for (phase, span) in phases.reached() {
            self.phase(phase, span);
        }
    }
}

impl Observer for Recorder {
    fn connected(&self, peer: &Peer, phases: &Phases, again: bool) {
        let seen = &mut self.live().seen;
        seen.connect(phases);
        seen.reconnects += u64::from(again);
        seen.peer = Some(peer.clone());
    }

    fn unconnected(&self, phases: &Phases, failure: &Failure) {
        self.live().seen.connect(phases);
        // The query of that start could not be asked, for this reason.
        self.failed(failure);
    }

    fn warmed_up(&self) {
        self.live().seen.warm_ups += 1;
        self.ended(Outcome::Ok, "");
    }

    fn answered(&self, sample: &Sample) {
        let started = sample.timings.started;
        let pending = Pending {
            started,
            done: sample.timings.done,
            service: sample.service(),
            response: sample.response(),
            position: sample.position,
        };
        let rows = [
            ("first_row", sample.timings.first_row),
            ("last_row", sample.timings.last_row),
        ];
        let overflow = {
            let live = &mut *self.live();
            live.seen.count(Outcome::Ok);
            for (phase, at) in rows {
                if let Some(at) = at {
                    live.seen
                        .phase(phase, at.saturating_duration_since(started));
                }
            }
            let full = live.pending.len() == MAX_PENDING;
            let overflow = full.then(|| live.pending.pop_front()).flatten();
            live.pending.push_back(pending);
            overflow
        };
        if let Some(oldest) = overflow {
            self.settled().give_up(&oldest);
        }
        self.ended(Outcome::Ok, "");
    }

    fn failed(&self, failure: &Failure) {
        self.live().seen.count(failure.outcome);
        self.ended(failure.outcome, &failure.message);
    }

    fn dropped(&self, starts: u64) {
        self.live().seen.dropped += starts;
    }

    fn woke(&self, lag: Duration) {
        self.live().seen.timer_lag.observe(lag.as_secs_f64());
    }
}

#[cfg(test)]
mod tests;

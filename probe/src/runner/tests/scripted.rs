//! An engine made of a list of what happens next, and an observer that keeps what it is told.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::*;
use crate::engine::Peer;
use crate::workload::{Pattern, Protocol, Statement};

/// What the scripted database does at a query: how long it takes and how it ends.
pub(super) type Step = (Duration, Result<(), Failure>);

#[derive(Default)]
pub(super) struct Script {
    connects: Mutex<VecDeque<Failure>>,
    steps: Mutex<VecDeque<Step>>,
    /// Stops the lane when the steps are used up.
    stop: Arc<Stop>,
}

pub(super) struct Scripted(Arc<Script>);

impl Engine for Scripted {
    fn connect(&mut self, _: &Workload, phases: &mut Phases) -> Result<Box<dyn Session>, Failure> {
        phases.connect = Some(Duration::ZERO);
        match self.0.connects.lock().unwrap().pop_front() {
            Some(failure) => Err(failure),
            None => Ok(Box::new(Scripted(Arc::clone(&self.0)))),
        }
    }
}

impl Session for Scripted {
    fn peer(&self) -> &Peer {
        static PEER: Peer = Peer {
            engine: "test",
            version: String::new(),
            transport: "test",
            tls: "none",
        };
        &PEER
    }

    fn execute(&mut self, _: &[i64]) -> Result<Timings, Failure> {
        let mut steps = self.0.steps.lock().unwrap();
        let (takes, end) = steps.pop_front().unwrap_or((Duration::ZERO, Ok(())));
        if steps.is_empty() {
            self.0.stop.stop();
        }
        drop(steps);
        let started = Instant::now();
        std::thread::sleep(takes);
        end.map(|()| Timings {
            started,
            first_row: None,
            last_row: None,
            done: Instant::now(),
        })
    }
}

#[derive(Default)]
pub(super) struct Seen(pub(super) Mutex<Events>);

#[derive(Default, Clone)]
pub(super) struct Events {
    pub(super) connects: Vec<bool>,
    pub(super) unconnected: usize,
    pub(super) warmed_up: u32,
    pub(super) samples: Vec<Sample>,
    pub(super) failures: Vec<Outcome>,
    pub(super) dropped: u64,
    pub(super) lags: Vec<Duration>,
}

impl Observer for Seen {
    fn connected(&self, _: &Peer, _: &Phases, again: bool) {
        self.0.lock().unwrap().connects.push(again);
    }
    fn unconnected(&self, _: &Phases, _: &Failure) {
        self.0.lock().unwrap().unconnected += 1;
    }
    fn warmed_up(&self) {
        self.0.lock().unwrap().warmed_up += 1;
    }
    fn answered(&self, sample: &Sample) {
        self.0.lock().unwrap().samples.push(*sample);
    }
    fn failed(&self, failure: &Failure) {
        self.0.lock().unwrap().failures.push(failure.outcome);
    }
    fn dropped(&self, starts: u64) {
        self.0.lock().unwrap().dropped += starts;
    }
    fn woke(&self, lag: Duration) {
        self.0.lock().unwrap().lags.push(lag);
    }
}

pub(super) const MS: Duration = Duration::from_millis(1);

/// Starts a lane that ends when the steps are used up.
pub(super) fn begin(
    every: Duration,
    queries: u16,
    connects: Vec<Failure>,
    steps: Vec<Step>,
) -> (JoinHandle<()>, Arc<Seen>, Arc<Stop>) {
    let stop = Arc::new(Stop::default());
    let script = Arc::new(Script {
        connects: Mutex::new(connects.into()),
        steps: Mutex::new(steps.into()),
        stop: Arc::clone(&stop),
    });
    let seen = Arc::new(Seen::default());
    let lane = Lane {
        engine: Box::new(Scripted(script)),
        workload: Arc::new(Workload {
            name: "test".to_owned(),
            statement: Statement {
                text: String::new(),
                params: Vec::new(),
                protocol: Protocol::Prepared,
            },
            pattern: Pattern { every, queries },
            lanes: 1,
            fixture: None,
        }),
        placement: Placement::default(),
        query_limit: Duration::from_secs(1),
        first: Instant::now(),
        seed: 1,
        observer: Arc::clone(&seen) as Arc<dyn Observer>,
        stop: Arc::clone(&stop),
    };
    (start(lane).unwrap(), seen, stop)
}

/// Runs a lane until the steps are used up.
pub(super) fn run(
    every: Duration,
    queries: u16,
    connects: Vec<Failure>,
    steps: Vec<Step>,
) -> Events {
    let (lane, seen, _) = begin(every, queries, connects, steps);
    lane.join().unwrap();
    let events = seen.0.lock().unwrap();
    events.clone()
}

pub(super) fn quick(count: u32) -> Vec<Step> {
    (0..count).map(|_| (Duration::ZERO, Ok(()))).collect()
}

pub(super) fn fails(outcome: Outcome, usable: bool) -> Step {
    let failure = Failure {
        outcome,
        message: String::new(),
        usable,
    };
    (Duration::ZERO, Err(failure))
}

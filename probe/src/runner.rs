//! One thread a lane: it owns its connection, its place and its clock, and tells an observer what happened.
//!
//! Between the two clock readings of a query there is nothing of ours but the engine's calls: parameters are drawn
//! before, the observer is told after. A lane has one connection at a time and never a second one beside a hung one.
//!
//! What is charged to the database and what is not: a start is late because the reply before it was slow (response
//! time says so), because the lane was connecting (the start is dropped) or because this host ran the lane too late
//! (the sample is `client_late` and the starts slept through are dropped).

mod observer;
mod pause;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use self::observer::{Observer, Position, Sample};
use self::pause::{PAUSE_AFTER_REFUSAL, pause};
use crate::config::Placement;
use crate::engine::{Engine, Failure, Outcome, Phases, Session, Timings};
use crate::placement;
use crate::schedule::{Due, Schedule, Stop};
use crate::workload::{Draws, Workload};

/// Successful executions after each connect that are counted apart. PostgreSQL plans a prepared statement anew five
/// times before it may keep a plan, and fills its catalogue caches at the first; twice that is enough.
pub const WARM_UP: u32 = 10;

/// A timer that ends this late was not served by an idle CPU waking up (which takes up to a millisecond) but by a
/// host that did not run the lane at all, and the same may happen again inside the timed span. Patterns faster than
/// 20 ms use half their period, since by then the schedule is no longer the one that was asked for.
const TOO_LATE: Duration = Duration::from_millis(10);

/// What a lane is made of.
pub struct Lane {
    /// The way to its database.
    pub engine: Box<dyn Engine>,
    /// What it asks.
    pub workload: Arc<Workload>,
    /// Where it runs.
    pub placement: Placement,
    /// How long a query may take; starts more than twice as late are dropped. One stall that a query survives is
    /// shorter than that and is caught up in full, while at a rate above capacity the response time ends there.
    pub query_limit: Duration,
    /// Its first intended start.
    pub first: Instant,
    /// Tells its parameters from those of other lanes.
    pub seed: u64,
    /// Who is told.
    pub observer: Arc<dyn Observer>,
    /// What ends it.
    pub stop: Arc<Stop>,
}

/// Why a lane did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The thread could not be made.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    /// The thread could not run as configured.
    #[error(transparent)]
    Placement(#[from] placement::Error),
}

/// Starts a lane on a thread of its own, and returns once it runs where it should.
///
/// # Errors
/// The thread could not be made or could not be placed.
pub fn start(lane: Lane) -> Result<JoinHandle<()>, Error> {
    let (placed, told) = sync_channel(1);
    let thread = std::thread::Builder::new()
        .name("lane".to_owned())
        .spawn(move || {
            let outcome = placement::apply(lane.placement);
            let go = outcome.is_ok();
            if placed.send(outcome).is_ok() && go {
                Running::new(lane).run();
            }
        })?;
    match told.recv() {
        Ok(outcome) => outcome?,
        Err(_) => return Err(io::Error::other("the thread ended at once").into()),
    }
    Ok(thread)
}

struct Running {
    schedule: Schedule,
    too_late: Duration,
    session: Option<Box<dyn Session>>,
    connected_before: bool,
    warm_up_left: u32,
    /// Breaks since the last successful query.
    breaks: u32,
    retry_at: Instant,
    /// Whether a session that goes on waits for `retry_at` too.
    pauses: bool,
    params: Vec<i64>,
    draws: Draws,
    lane: Lane,
}

/// An intended start that has come.
struct Start {
    intended: Instant,
    position: Position,
    late: bool,
}

impl Running {
    fn new(lane: Lane) -> Self {
        let every = lane.workload.pattern.every;
        let too_late = if every.is_zero() {
            TOO_LATE
        } else {
            TOO_LATE.min(every / 2)
        };
        Running {
            schedule: Schedule::new(lane.first, every, lane.query_limit * 2),
            too_late,
            session: None,
            connected_before: false,
            warm_up_left: WARM_UP,
            breaks: 0,
            retry_at: lane.first,
            pauses: false,
            params: Vec::new(),
            draws: Draws::new(lane.seed),
            lane,
        }
    }

    fn run(mut self) {
        while let Some(start) = self.wait() {
            if self.session.is_some() || self.connect() {
                self.ask(&start);
            }
        }
    }

    /// Waits for the next intended start; `None` once stopped.
    fn wait(&mut self) -> Option<Start> {
        if self.session.is_none() {
            if !self.lane.stop.sleep_until(self.retry_at) {
                return None;
            }
            let missed = self.schedule.skip(self.retry_at);
            self.dropped(missed);
        } else if self.pauses && !self.lane.stop.sleep_until(self.retry_at) {
            return None;
        }
        self.pauses = false;
        let now = Instant::now();
        let Due { intended, dropped } = self.schedule.take(now);
        self.dropped(dropped);
        if intended <= now {
            return (!self.lane.stop.is_stopped()).then_some(Start {
                intended,
                position: Position::Next,
                late: false,
            });
        }
        if !self.lane.stop.sleep_until(intended) {
            return None;
        }
        let lag = Instant::now().saturating_duration_since(intended);
        self.lane.observer.woke(lag);
        let late = lag > self.too_late;
        if late {
            self.drop_missed();
        }
        Some(Start {
            intended,
            position: Position::First,
            late,
        })
    }

    fn drop_missed(&mut self) {
        let missed = self.schedule.skip(Instant::now());
        self.dropped(missed);
    }

    fn dropped(&self, starts: u64) {
        if starts > 0 {
            self.lane.observer.dropped(starts);
        }
    }

    /// Opens a session; whether there is one.
    fn connect(&mut self) -> bool {
        let mut phases = Phases::default();
        let opened = self.lane.engine.connect(&self.lane.workload, &mut phases);
        match opened {
            Ok(session) => {
                let again = std::mem::replace(&mut self.connected_before, true);
                self.lane.observer.connected(session.peer(), &phases, again);
                self.session = Some(session);
                self.warm_up_left = WARM_UP;
                self.drop_missed();
                true
            }
            Err(failure) => {
                self.lane.observer.unconnected(&phases, &failure);
                self.broke();
                false
            }
        }
    }

    /// The queries of one intended start, back to back. A failure ends them.
    fn ask(&mut self, start: &Start) {
        for number in 0..self.lane.workload.pattern.queries {
            let first = number == 0;
            if !first && self.lane.stop.is_stopped() {
                return;
            }
            self.params.clear();
            let statement = &self.lane.workload.statement;
            let draws = &mut self.draws;
            for _ in 0..statement.protocol.statements() {
                let params = statement.params.iter();
                self.params.extend(params.map(|param| param.draw(draws)));
            }
            let Some(session) = &mut self.session else {
                return;
            };
            match session.execute(&self.params) {
                Ok(timings) => self.succeeded(start, first, timings),
                Err(failure) => {
                    self.lane.observer.failed(&failure);
                    if !failure.usable {
                        self.session = None;
                        self.broke();
                    } else if self.lane.workload.pattern.every.is_zero() {
                        self.pauses = true;
                        self.retry_at = Instant::now() + PAUSE_AFTER_REFUSAL;
                    }
                    return;
                }
            }
        }
    }

    fn succeeded(&mut self, start: &Start, first: bool, timings: Timings) {
        self.breaks = 0;
        let observer = &self.lane.observer;
        if self.warm_up_left > 0 {
            self.warm_up_left -= 1;
            observer.warmed_up();
        } else if first && start.late {
            let message = "this host ran the lane too late for its schedule";
            observer.failed(&Failure {
                outcome: Outcome::ClientLate,
                message: message.to_owned(),
                usable: true,
            });
        } else {
            observer.answered(&Sample {
                intended: if first {
                    start.intended
                } else {
                    timings.started
                },
                position: if first {
                    start.position
                } else {
                    Position::Next
                },
                timings,
            });
        }
    }

    /// The first reconnect comes with the next intended start, further ones after growing pauses.
    fn broke(&mut self) {
        self.breaks = self.breaks.saturating_add(1);
        self.retry_at = Instant::now() + pause(self.breaks, &mut self.draws);
    }
}

#[cfg(test)]
mod tests;

//! What a lane tells, and to whom.

use std::time::{Duration, Instant};

use crate::engine::{Failure, Peer, Phases, Timings};

/// Where in a run of queries a query stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Position {
    /// The first after the pattern's pause: both sides may have been idle.
    First,
    /// Right after another one, or caught up behind schedule without a pause.
    Next,
}

impl Position {
    /// Both positions.
    pub const ALL: [Position; 2] = [Position::First, Position::Next];

    /// The label value.
    pub fn label(self) -> &'static str {
        match self {
            Position::First => "first",
            Position::Next => "next",
        }
    }
}

/// One successful query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was to start; where it follows another query at once, when it did.
    pub intended: Instant,
    /// Where it stood.
    pub position: Position,
    /// Its clock readings.
    pub timings: Timings,
}

impl Sample {
    /// Request handed over -> whole reply there.
    pub fn service(&self) -> Duration {
        self.timings
            .done
            .saturating_duration_since(self.timings.started)
    }

    /// Intended start -> whole reply there.
    pub fn response(&self) -> Duration {
        self.timings.done.saturating_duration_since(self.intended)
    }
}

/// Who is told what a lane sees. Called outside of every timed span.
pub trait Observer: Send + Sync {
    /// A session was opened; `again` if the lane had one before.
    fn connected(&self, peer: &Peer, phases: &Phases, again: bool);
    /// A session could not be opened.
    fn unconnected(&self, phases: &Phases, failure: &Failure);
    /// A query succeeded during the warm-up.
    fn warmed_up(&self);
    /// A query succeeded.
    fn answered(&self, sample: &Sample);
    /// A query failed, or its time says nothing about the database.
    fn failed(&self, failure: &Failure);
    /// Intended starts were given up.
    fn dropped(&self, starts: u64);
    /// The lane slept to an intended start and ran that much later.
    fn woke(&self, lag: Duration);
}

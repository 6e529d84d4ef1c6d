//! The files with counters of one CPU.

use std::time::Instant;

use super::pace::Pace;
use crate::parse;
use crate::root::{Dir, Error, Kept, Root, absent};

/// The counters of one CPU, and the pace they are published at.
#[derive(Debug)]
pub(super) struct CpuFiles {
    pub(super) pace: Pace,
    states: Vec<StateFiles>,
}

#[derive(Debug)]
struct StateFiles {
    time: Option<Kept>,
    usage: Option<Kept>,
    above: Option<Kept>,
    below: Option<Kept>,
    rejected: Option<Kept>,
}

/// What one state has counted; nothing where that could not be read.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) time_us: Option<f64>,
    pub(super) usage: Option<u64>,
    pub(super) above: Option<u64>,
    pub(super) below: Option<u64>,
    pub(super) rejected: Option<u64>,
}

impl CpuFiles {
    pub(super) fn new(root: &Root, states: &[Dir]) -> Self {
        let states = states.iter().map(|dir| StateFiles {
            time: dir.file(root, "time"),
            usage: dir.file(root, "usage"),
            above: dir.file(root, "above"),
            below: dir.file(root, "below"),
            rejected: dir.file(root, "rejected"),
        });
        CpuFiles {
            states: states.collect(),
            pace: Pace::default(),
        }
    }

    pub(super) fn read(&mut self, root: &Root, now: Instant, stale: &mut bool) -> Vec<Counts> {
        let mut read = |file: &mut Option<Kept>| {
            let count = root.parse(file.as_mut()?, parse::number);
            let gone = |error: &Error| error.errno().is_some_and(absent);
            *stale |= count.as_ref().is_err_and(gone);
            root.tolerate(count)
        };
        let mut times_us = Vec::with_capacity(self.states.len());
        let mut counts = Vec::with_capacity(self.states.len());
        for state in &mut self.states {
            times_us.push(read(&mut state.time));
            counts.push(Counts {
                time_us: None,
                usage: read(&mut state.usage),
                above: read(&mut state.above),
                below: read(&mut state.below),
                rejected: read(&mut state.rejected),
            });
        }
        let paced = self.pace.advance(now, &times_us);
        for (counts, time_us) in counts.iter_mut().zip(paced) {
            counts.time_us = time_us;
        }
        counts
    }
}

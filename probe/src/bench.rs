//! One workload against one target in a closed loop, for a while, with exact figures at the end.
//!
//! The lanes are those of `serve`: what differs is the pattern (the next query follows the reply at once) and the
//! observer, which keeps every sample of the measured time. The measured time begins once every lane is warm and is
//! fixed then, so a query that is under way at either end of it is not counted.

mod report;
mod tally;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

pub use self::report::{Report, Summary};
use self::tally::{State, Tally};
use crate::args::Bench;
use crate::config::{Config, Target};
use crate::engine;
use crate::runner::{self, Lane, Observer, WARM_UP};
use crate::schedule::Stop;
use crate::workload::{Pattern, Workload};
use crate::workloads;

/// How often the progress bar moves. Each move wakes a CPU, so there is none without a terminal.
const TICK: Duration = Duration::from_millis(200);

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The target is not in the configuration.
    #[error("no target is named `{name}`; known: {known}")]
    Target {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The workload is neither a preset nor the target's.
    #[error(
        "target `{target}` has no workload `{name}`, and no preset is named so; known: {known}"
    )]
    Workload {
        /// The target.
        target: String,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A lane could not be started.
    #[error("target `{0}`: {1}")]
    Lane(String, runner::Error),
    /// No query was answered.
    #[error("target `{target}`: {failure}")]
    Unanswered {
        /// The target.
        target: String,
        /// What came instead.
        failure: String,
    },
}

/// The tally and the thread of each lane.
type Lanes = (Vec<Arc<Tally>>, Vec<JoinHandle<()>>);

/// Runs a benchmark to its end.
///
/// # Errors
/// The names are unknown, a lane could not be placed, or no query was answered.
pub fn run(bench: &Bench, config: &Config) -> Result<Report, Error> {
    let target = find_target(&bench.target, config)?;
    let workload = find_workload(&bench.workload, target)?;
    let closed = Arc::new(Workload {
        pattern: Pattern {
            every: Duration::ZERO,
            queries: 1,
        },
        ..(*workload).clone()
    });
    let stop = Arc::new(Stop::default());
    let (tallies, threads) = start(bench.lanes, target, &closed, &stop)?;
    let seconds = Duration::from_secs(bench.seconds.into());
    let measured = warm(&tallies, target).map(|()| measure(&tallies, seconds));
    stop.stop();
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a lane ended in a panic");
        }
    }
    measured?;
    let merged = Tally::merge(&tallies);
    Report::new(target, &closed, bench.lanes, seconds, &merged)
        .ok_or_else(|| unanswered(target, &merged))
}

/// Starts the lanes, each with a tally of its own.
fn start(
    lanes: u16,
    target: &Target,
    workload: &Arc<Workload>,
    stop: &Arc<Stop>,
) -> Result<Lanes, Error> {
    let (mut tallies, mut threads) = (Vec::new(), Vec::new());
    for number in 0..lanes {
        let tally = Arc::new(Tally::default());
        let started = runner::start(Lane {
            engine: engine::of(target),
            workload: Arc::clone(workload),
            placement: target.placement,
            query_limit: target.timeout.query,
            first: Instant::now(),
            seed: u64::from(number),
            observer: Arc::clone(&tally) as Arc<dyn Observer>,
            stop: Arc::clone(stop),
        });
        tallies.push(tally);
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                stop.stop();
                return Err(Error::Lane(target.name.clone(), error));
            }
        }
    }
    Ok((tallies, threads))
}

fn unanswered(target: &Target, state: &State) -> Error {
    let failure = state.failure.as_ref();
    Error::Unanswered {
        target: target.name.clone(),
        failure: failure.map_or("no query was answered".to_owned(), ToString::to_string),
    }
}

/// Waits until every lane has answered after its warm-up.
fn warm(tallies: &[Arc<Tally>], target: &Target) -> Result<(), Error> {
    let limit = target.timeout.connect + target.timeout.query * (WARM_UP + 2);
    let deadline = Instant::now() + limit + Duration::from_secs(1);
    loop {
        let hopeless = tallies.iter().find(|tally| tally.is_hopeless());
        let late = || tallies.iter().find(|tally| !tally.is_warm());
        match hopeless {
            Some(tally) => return Err(unanswered(target, &tally.state())),
            None if late().is_none() => return Ok(()),
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            None => {
                let state = late().map(|tally| tally.state().clone());
                return Err(unanswered(target, &state.unwrap_or_default()));
            }
        }
    }
}

/// Lets the lanes run for `seconds` that are counted.
fn measure(tallies: &[Arc<Tally>], seconds: Duration) {
    let begin = Instant::now();
    let end = begin + seconds;
    for tally in tallies {
        tally.measure(begin, end);
    }
    let left = || end.saturating_duration_since(Instant::now());
    if std::io::stderr().is_terminal() {
        let ticks = seconds.as_millis().div_ceil(TICK.as_millis());
        let bar = ProgressBar::new(u64::try_from(ticks).unwrap_or(u64::MAX));
        while !left().is_zero() {
            std::thread::sleep(left().min(TICK));
            bar.inc(1);
        }
        bar.finish_and_clear();
    } else {
        std::thread::sleep(left());
    }
}

fn find_target<'c>(name: &str, config: &'c Config) -> Result<&'c Target, Error> {
    let found = config.targets.iter().find(|target| target.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = config.targets.iter().map(|t| t.name.as_str()).collect();
        Error::Target {
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}

fn find_workload(name: &str, target: &Target) -> Result<Arc<Workload>, Error> {
    let own = target.workloads.iter().find(|own| own.name == name);
    let preset = || workloads::find(name, target.access.dialect());
    own.cloned().or_else(preset).ok_or_else(|| {
        let presets = workloads::PRESETS.iter().map(|preset| preset.name);
        let own = target.workloads.iter().map(|own| own.name.as_str());
        let mut known: Vec<&str> = presets.chain(own).collect();
        known.sort_unstable();
        known.dedup();
        Error::Workload {
            target: target.name.clone(),
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}

#[cfg(test)]
mod tests;

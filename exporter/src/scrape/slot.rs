//! A collector's place in the loop: its state between scrapes, and how its last run ended.

use std::collections::BTreeMap;
use std::time::Duration;

use toolkit::metric::{Desc, Metric, Rollup, Sink};

use crate::collector::{Entry, Info, Outcome, Run, State};
use crate::collectors::Flags;
use crate::root::{Paths, Root, Watch};

static DURATION: Metric<1> = Metric::gauge(
    "wakelag_scrape_collector_duration_seconds",
    "Time the collector took in its last run.",
    &["collector"],
);
static STATE: Metric<2> = Metric::gauge(
    "wakelag_scrape_collector_state",
    "How the collector ended its last run: 1 for the one state it is in.",
    &["collector", "state"],
);
static ERRORS: Metric<2> = Metric::counter(
    "wakelag_scrape_errors_total",
    "Files that could not be read or understood, by errno or by parse, timeout and panic.",
    &["collector", "reason"],
);

/// What the loop publishes of itself.
pub static METRICS: &[&Desc] = &[DURATION.desc(), STATE.desc(), ERRORS.desc()];

/// Reasons that are published at 0 before they ever happen.
const REASONS: [&str; 3] = ["parse", "timeout", "panic"];

/// A collector with its way to the kernel's files.
pub(super) struct Runner {
    pub(super) collector: Box<dyn Run>,
    pub(super) root: Root,
    /// Survives a panic of the collector: its sums must not begin anew.
    pub(super) rollup: Option<Rollup>,
}

/// How a collector stands, for a person.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Name, cost and metrics.
    pub info: &'static Info,
    /// How the last run ended; `None` before the first.
    pub outcome: Option<Outcome>,
    /// How long it took.
    pub duration: Duration,
}

/// A collector's place in the loop.
pub(super) struct Slot {
    entry: &'static Entry,
    paths: Paths,
    flags: Flags,
    watch: Watch,
    /// Away while a reader runs it.
    runner: Option<Runner>,
    outcome: Option<Outcome>,
    duration: Duration,
    errors: BTreeMap<&'static str, u64>,
}

impl Slot {
    pub(super) fn new(entry: &'static Entry, paths: &Paths, flags: &Flags) -> Self {
        let mut slot = Slot {
            entry,
            paths: paths.clone(),
            flags: flags.clone(),
            watch: Watch::default(),
            runner: None,
            outcome: None,
            duration: Duration::ZERO,
            errors: REASONS.into_iter().map(|reason| (reason, 0)).collect(),
        };
        let rollup = slot.flags.cardinality.rollup();
        slot.put_back(slot.fresh(rollup));
        slot
    }

    pub(super) fn name(&self) -> &'static str {
        self.entry.info.name
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            info: self.entry.info,
            outcome: self.outcome.clone(),
            duration: self.duration,
        }
    }

    pub(super) fn take(&mut self) -> Option<Runner> {
        self.runner.take()
    }

    /// A collector without any state.
    pub(super) fn fresh(&self, rollup: Option<Rollup>) -> Runner {
        Runner {
            collector: (self.entry.make)(&self.flags),
            root: Root::new(self.paths.clone()),
            rollup,
        }
    }

    /// Takes a collector back after its run.
    pub(super) fn put_back(&mut self, runner: Runner) {
        self.watch = runner.root.watch();
        self.runner = Some(runner);
    }

    /// Notes how a run ended. Only a change is logged.
    pub(super) fn settle(&mut self, outcome: Outcome, took: Duration) {
        for reason in &outcome.errors {
            *self.errors.entry(reason).or_default() += 1;
        }
        let (collector, before) = (self.name(), self.outcome.as_ref().map(|o| o.state));
        let (state, reason) = (outcome.state, outcome.reason.as_str());
        match (before, state) {
            (before, state) if before == Some(state) => {}
            (None, State::Ok | State::Absent) => {
                tracing::debug!(collector, state = state.name(), reason, "first run");
            }
            (_, State::Ok | State::Absent) => {
                tracing::info!(collector, state = state.name(), reason, "outcome changed");
            }
            _ => tracing::warn!(collector, state = state.name(), reason, "outcome changed"),
        }
        self.outcome = Some(outcome);
        self.duration = took;
    }

    /// Goes on without a run that is over its deadline.
    pub(super) fn give_up(&mut self, waited: Duration) {
        let file = self.watch.path();
        let file = file.map_or_else(|| "a file".to_owned(), |path| path.display().to_string());
        let outcome = Outcome {
            state: State::Timeout,
            reason: format!("{file}: no answer after {:.1} s", waited.as_secs_f64()),
            errors: vec!["timeout"],
        };
        self.settle(outcome, waited);
    }

    /// Counts a scrape that goes by while an earlier run still hangs.
    pub(super) fn still_waiting(&mut self) {
        *self.errors.entry("timeout").or_default() += 1;
    }

    pub(super) fn emit(&self, out: &mut Sink) {
        let Some(outcome) = &self.outcome else { return };
        let collector = self.name();
        out.put(&DURATION, [collector], self.duration.as_secs_f64());
        let state = outcome.state.name();
        out.put_state(&STATE, &State::NAMES, state, |state| [collector, state]);
        for (reason, count) in &self.errors {
            out.put(&ERRORS, [collector, reason], *count as f64);
        }
    }
}

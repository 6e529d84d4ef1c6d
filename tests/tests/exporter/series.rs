//! An exposition as a map, and a machine with its exporter.

use std::collections::BTreeMap;
use std::time::Duration;

use exporter::collector::State;
use exporter::site::Exporter;
use tests::fixture::{self, Fixture};
use toolkit::metric::Family;

use crate::support;

/// Value by `name{label="value",...}`.
pub(crate) type Series = BTreeMap<String, f64>;

/// A machine, and one exporter that keeps its files open.
pub(crate) struct Host {
    pub(crate) machine: Fixture,
    pub(crate) exporter: Exporter,
}

impl Host {
    /// The machine `name` after `change`, seen by a new exporter.
    pub(crate) fn new(name: &str, change: impl FnOnce(&Fixture)) -> Self {
        let machine = fixture::unpack(name);
        change(&machine);
        let exporter = support::exporter(&machine);
        Host { machine, exporter }
    }

    /// The same, told `flags`.
    pub(crate) fn with_flags(name: &str, flags: &[&str], change: impl FnOnce(&Fixture)) -> Self {
        let machine = fixture::unpack(name);
        change(&machine);
        let exporter = support::exporter_of(&machine, flags);
        Host { machine, exporter }
    }

    /// The same with a deadline for each collector.
    pub(crate) fn with_deadline(
        name: &str,
        deadline: Duration,
        change: impl FnOnce(&Fixture),
    ) -> Self {
        let machine = fixture::unpack(name);
        let exporter = support::exporter_with(&machine, deadline);
        change(&machine);
        Host { machine, exporter }
    }

    pub(crate) fn scrape(&self) -> Series {
        series(&support::scrape(&self.exporter))
    }

    pub(crate) fn state(&self, collector: &str) -> State {
        support::state(&self.exporter, collector)
    }

    pub(crate) fn reason(&self, collector: &str) -> String {
        support::outcome(&self.exporter, collector).reason
    }

    pub(crate) fn unwell(&self) -> Vec<String> {
        unwell(&self.exporter)
    }
}

/// Every collector that is neither well nor absent, with its reason.
pub(crate) fn unwell(exporter: &Exporter) -> Vec<String> {
    let standings = exporter.standings().into_iter();
    let unwell = standings.filter_map(|standing| {
        let outcome = standing.outcome?;
        let well = matches!(outcome.state, State::Ok | State::Absent);
        (!well).then(|| format!("{}: {}", standing.info.name, outcome.reason))
    });
    unwell.collect()
}

/// Every sample but how long collectors took.
///
/// # Panics
/// If two samples have the same name and labels.
pub(crate) fn series(families: &[Family]) -> Series {
    of_text(&toolkit::exposition::text(families))
}

/// The same of what a program has answered.
///
/// # Panics
/// If two samples have the same name and labels.
pub(crate) fn of_text(text: &str) -> Series {
    let mut series = Series::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        if name.starts_with("wakelag_scrape_collector_duration_seconds") {
            continue;
        }
        let old = series.insert(name.to_owned(), value.parse().unwrap());
        assert!(old.is_none(), "{name} twice");
    }
    series
}

/// Those whose text starts with `start`.
pub(crate) fn starting<'s>(series: &'s Series, start: &str) -> Vec<(&'s str, f64)> {
    let found = series.iter().filter(|(name, _)| name.starts_with(start));
    found.map(|(name, value)| (name.as_str(), *value)).collect()
}

/// The label `label` of a series.
pub(crate) fn label<'s>(series: &'s str, label: &str) -> Option<&'s str> {
    let start = series.find(&format!("{label}=\""))? + label.len() + 2;
    series[start..].split('"').next()
}

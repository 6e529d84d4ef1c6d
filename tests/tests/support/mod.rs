//! The exporter in process over a fixture machine.
#![allow(dead_code, unreachable_pub)] // each suite uses its own part of this

use std::time::Duration;

use clap::{Args as _, Command, FromArgMatches as _};
use exporter::args::{Kernel, enabled, with_collectors};
use exporter::collector::{Outcome, State};
use exporter::collectors::Flags;
use exporter::site::Exporter;
use tests::fixture::Fixture;
use toolkit::metric::{Family, Sample, family};

/// An exporter of all default collectors over `machine`.
pub fn exporter(machine: &Fixture) -> Exporter {
    exporter_with(machine, Duration::from_secs(10))
}

/// An exporter that gives each collector `timeout`.
pub fn exporter_with(machine: &Fixture, timeout: Duration) -> Exporter {
    configured(machine, timeout, &[])
}

/// An exporter as `flags` say: `--collector.X`, `--collector.X.*`.
pub fn exporter_of(machine: &Fixture, flags: &[&str]) -> Exporter {
    configured(machine, Duration::from_secs(10), flags)
}

/// An exporter that looks for changed settings by itself while its guard runs.
pub fn exporter_that_checks(machine: &Fixture, check_interval: Duration) -> Exporter {
    configured_to_check(machine, Duration::from_secs(10), &[], check_interval)
}

fn configured(machine: &Fixture, timeout: Duration, flags: &[&str]) -> Exporter {
    configured_to_check(machine, timeout, flags, Duration::ZERO)
}

fn configured_to_check(
    machine: &Fixture,
    timeout: Duration,
    flags: &[&str],
    check_interval: Duration,
) -> Exporter {
    let command = Flags::augment_args(with_collectors(Command::new("exporter")));
    let line = ["exporter"].iter().chain(flags);
    let matches = command.try_get_matches_from(line).unwrap();
    let kernel = Kernel {
        procfs: machine.procfs(),
        sysfs: machine.sysfs(),
        devfs: machine.devfs(),
        check_interval,
        node_name: None,
        timeout,
        collectors: Flags::from_arg_matches(&matches).unwrap(),
    };
    Exporter::new(&kernel, &enabled(&matches))
}

/// One scrape of everything.
pub fn scrape(exporter: &Exporter) -> Vec<Family> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(exporter.families(&Vec::new())).unwrap()
}

/// The value of the one sample of `name` that has all of `labels`.
pub fn value(families: &[Family], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let fits = |sample: &Sample<'_>| labels.iter().all(|(n, v)| sample.label(n) == Some(v));
    let family = family(families, name)?;
    let mut samples = family.samples().filter(fits);
    let sample = samples.next()?;
    assert!(
        samples.next().is_none(),
        "{name}: more than one sample has {labels:?}"
    );
    sample.value()
}

/// How `collector` ended its last run.
pub fn outcome(exporter: &Exporter, collector: &str) -> Outcome {
    let standing = exporter
        .standings()
        .into_iter()
        .find(|standing| standing.info.name == collector);
    standing.unwrap().outcome.unwrap()
}

/// The state `collector` is in.
pub fn state(exporter: &Exporter, collector: &str) -> State {
    outcome(exporter, collector).state
}

//! The result of a benchmark, as a table or as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::tally::State;
use crate::config::Target;
use crate::engine::{Peer, Phases};
use crate::workload::Workload;

/// The result of a benchmark. All times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The target's name.
    pub target: String,
    /// The workload's name.
    pub workload: String,
    /// The engine.
    pub engine: &'static str,
    /// The server's or library's version.
    pub server_version: String,
    /// `tcp`, `unix` or `file`.
    pub transport: &'static str,
    /// The version of TLS, or `none`.
    pub tls: &'static str,
    /// How many connections asked.
    pub lanes: u16,
    /// How many statements a query is: 1, or as many as a pipeline has.
    pub statements: u16,
    /// How many queries were answered in the measured time.
    pub queries: u64,
    /// The measured time.
    pub seconds: f64,
    /// How many failed in it.
    pub errors: u64,
    /// Throughput.
    pub queries_per_second: f64,
    /// Request to last byte of the reply.
    pub service_seconds: Summary,
    /// Mean of each phase that the lanes' connects reached.
    pub connect_seconds: BTreeMap<&'static str, f64>,
}

/// A distribution in seconds: exact but for the percentiles, which have three digits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample; 0 for a single one.
    pub stddev: f64,
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Greatest.
    pub max: f64,
}

impl Summary {
    /// `None` without samples.
    fn new(state: &State) -> Option<Self> {
        let count = u128::from(state.nanos.len());
        if count == 0 {
            return None;
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        let quantile = |quantile| {
            let ns = state.nanos.value_at_quantile(quantile);
            // The histogram says the upper end of a value's range.
            seconds(ns.clamp(state.min_ns, state.max_ns))
        };
        // Sums are exact: the square of a day in nanoseconds is far inside u128.
        let squares = count * state.sum_of_squares_ns2 - state.sum_ns * state.sum_ns;
        let variance_ns2 = squares as f64 / (count * (count - 1).max(1)) as f64;
        Some(Summary {
            mean: state.sum_ns as f64 / count as f64 / 1e9,
            stddev: variance_ns2.sqrt() / 1e9,
            min: seconds(state.min_ns),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: seconds(state.max_ns),
        })
    }

    fn rows(&self) -> [(&'static str, f64); 8] {
        [
            ("mean", self.mean),
            ("stddev", self.stddev),
            ("min", self.min),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p99", self.p99),
            ("p99.9", self.p999),
            ("max", self.max),
        ]
    }
}

impl Report {
    /// `None` if no query was answered.
    pub(super) fn new(
        target: &Target,
        workload: &Workload,
        lanes: u16,
        measured: Duration,
        state: &State,
    ) -> Option<Self> {
        let service_seconds = Summary::new(state)?;
        let Peer {
            engine,
            version,
            transport,
            tls,
        } = state.peer.clone()?;
        let seconds = measured.as_secs_f64();
        let queries = state.nanos.len();
        Some(Report {
            target: target.name.clone(),
            workload: workload.name.clone(),
            engine,
            server_version: version,
            transport,
            tls,
            lanes,
            statements: workload.statement.protocol.statements(),
            queries,
            seconds,
            errors: state.errors,
            queries_per_second: queries as f64 / seconds,
            service_seconds,
            connect_seconds: means(&state.connects),
        })
    }
}

fn means(connects: &[Phases]) -> BTreeMap<&'static str, f64> {
    let mut sums = BTreeMap::<&'static str, (f64, f64)>::new();
    for (phase, span) in connects.iter().flat_map(Phases::reached) {
        let (sum, count) = sums.entry(phase).or_default();
        *sum += span.as_secs_f64();
        *count += 1.0;
    }
    let mean = |(phase, (sum, count)): (&'static str, (f64, f64))| (phase, sum / count);
    sums.into_iter().map(mean).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = if self.lanes == 1 { "lane" } else { "lanes" };
        writeln!(
            out,
            "{}: {} {} over {}{}\n{}: {} {lanes}, closed loop, {} s\n",
            self.target,
            self.engine,
            self.server_version,
            self.transport,
            if self.tls == "none" {
                String::new()
            } else {
                format!(" with {}", self.tls)
            },
            self.workload,
            self.lanes,
            self.seconds
        )?;
        for (name, seconds) in self.service_seconds.rows() {
            writeln!(out, "{name:<12}{:>14.2} us", seconds * 1e6)?;
        }
        if self.statements > 1 {
            let mean = self.service_seconds.mean / f64::from(self.statements);
            writeln!(out, "\n{:<16}{:>10.2} us", "mean/statement", mean * 1e6)?;
            writeln!(out, "{:<16}{:>10}", "statements/query", self.statements)?;
        }
        writeln!(out)?;
        writeln!(out, "{:<12}{:>14}", "queries", self.queries)?;
        writeln!(out, "{:<12}{:>14.1}", "per second", self.queries_per_second)?;
        writeln!(out, "{:<12}{:>14}", "errors", self.errors)?;
        for (phase, seconds) in &self.connect_seconds {
            // The phase of that name is only a part of connecting.
            let name = format!("connect/{phase}");
            writeln!(out, "{name:<16}{:>10.2} us", seconds * 1e6)?;
        }
        Ok(())
    }
}

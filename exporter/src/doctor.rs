//! `wakelag-exporter doctor`: how each collector stands on this host, why, and what to do.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::advice::{self, Host};
use crate::scrape::{NoReader, Selection, Standing};
use crate::site::Exporter;

/// The findings on a host.
#[derive(Debug, Serialize)]
pub struct Report {
    node: String,
    /// Series in one scrape of what is switched on.
    series: usize,
    collectors: Vec<Finding>,
}

/// How one collector stands.
#[derive(Debug, Serialize)]
struct Finding {
    collector: &'static str,
    about: &'static str,
    /// What reading it costs other CPUs: A to E.
    cost: String,
    state: &'static str,
    seconds: f64,
    /// The file and what was wrong with it; empty where all is well.
    reason: String,
    why: &'static str,
    next: &'static str,
}

/// Scrapes everything that is switched on once and reports.
///
/// # Errors
/// Nothing can be read at all.
pub async fn examine(exporter: &Exporter) -> Result<Report, NoReader> {
    let families = exporter.scrape(Selection::All).await?;
    let host = exporter.host();
    let standings = exporter.standings();
    Ok(Report {
        node: exporter.node.name.clone(),
        series: families.iter().map(|family| family.samples().len()).sum(),
        collectors: standings
            .iter()
            .map(|standing| finding(standing, &host))
            .collect(),
    })
}

fn finding(standing: &Standing, host: &Host) -> Finding {
    let outcome = standing.outcome.as_ref();
    let advice = advice::on(standing, host);
    Finding {
        collector: standing.info.name,
        about: standing.info.about,
        cost: format!("{:?}", standing.info.cost),
        state: outcome.map_or("not run", |outcome| outcome.state.name()),
        seconds: standing.duration.as_secs_f64(),
        reason: outcome
            .map(|outcome| outcome.reason.clone())
            .unwrap_or_default(),
        why: advice.map_or("", |advice| advice.why),
        next: advice.map_or("", |advice| advice.next),
    }
}

impl Report {
    /// The report for a program to read: one JSON object.
    ///
    /// # Errors
    /// None that is known: the report is plain data.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {} series in a scrape", self.node, self.series)?;
        for finding in &self.collectors {
            let mut head = String::new();
            write!(head, "{:<12}{:<9}", finding.collector, finding.state)?;
            let ms = finding.seconds * 1e3;
            writeln!(
                out,
                "\n{head}{ms:.2} ms, cost class {}; {}",
                finding.cost, finding.about
            )?;
            for line in [finding.reason.as_str(), finding.why, finding.next] {
                if !line.is_empty() {
                    writeln!(out, "{:12}{line}", "")?;
                }
            }
        }
        Ok(())
    }
}

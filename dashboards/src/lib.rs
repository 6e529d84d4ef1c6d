//! The Grafana dashboards of wakelag, as a program.
//!
//! What a dashboard says is written in one module each ([`latency_and_power`]); what every dashboard has in common
//! (data source variable, selectors, units, a description on each panel, the grid) is written once, in [`model`]. The
//! program `dashboards` writes the JSON files beside this crate; they are committed, and a test fails while they are
//! stale.

pub mod latency_and_power;
pub mod model;
mod query;

use std::path::{Path, PathBuf};

use model::Dashboard;

/// Every dashboard of the bundle.
pub fn all() -> Vec<Dashboard> {
    vec![latency_and_power::dashboard()]
}

/// Where the JSON file of a dashboard belongs in this repository.
pub fn path(dashboard: &Dashboard) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(dashboard.file_name())
}

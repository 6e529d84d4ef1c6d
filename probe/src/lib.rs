//! wakelag-probe: times real database queries and says under which CPU power settings each ran.

pub mod config;
pub mod engine;
pub mod engines;
pub mod placement;
pub mod record;
pub mod runner;
pub mod schedule;
pub mod workload;
pub mod workloads;

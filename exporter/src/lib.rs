//! wakelag-exporter: publishes what the kernel says about idle states, frequency, energy and scheduling, and the
//! settings behind them, without waking the CPUs it measures.

pub mod advice;
pub mod args;
pub mod cardinality;
pub mod collector;
pub mod collectors;
pub mod cpus;
pub mod doctor;
pub mod ledger;
pub mod node;
pub mod page;
pub mod parse;
pub mod perf;
pub mod root;
pub mod scrape;
pub mod settings;
pub mod site;
pub mod table;
pub mod wide;

use toolkit::metric::Desc;

/// Every metric the exporter can publish, with the room it comes from.
pub fn metrics() -> Vec<(&'static str, &'static Desc)> {
    let rooms = collectors::COLLECTORS
        .iter()
        .map(|entry| (entry.info.name, entry.info.metrics))
        .chain([
            ("scrape", scrape::METRICS),
            ("profile", ledger::METRICS),
            ("node", node::METRICS),
        ]);
    rooms
        .flat_map(|(room, metrics)| metrics.iter().map(move |desc| (room, *desc)))
        .collect()
}

//! What the program itself costs, under the names every Prometheus client library uses (`process_*`).

use prometheus::core::Collector as _;
use prometheus::process_collector::ProcessCollector;

use crate::metric::Family;

/// CPU seconds, descriptors, memory, threads and start time of this process.
pub fn families() -> Vec<Family> {
    let gathered = ProcessCollector::for_self().collect();
    gathered.iter().filter_map(Family::bare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_of_the_client_library_is_there() {
        let theirs = ProcessCollector::for_self().collect();
        let ours: Vec<_> = families().iter().map(Family::to_proto).collect();
        let head = |all: &[prometheus::proto::MetricFamily]| -> Vec<_> {
            let heads = all
                .iter()
                .map(|f| (f.name().to_owned(), f.help().to_owned(), f.type_()));
            heads.collect()
        };
        assert_eq!(head(&ours), head(&theirs));
        assert!(ours.iter().any(|f| f.name() == "process_cpu_seconds_total"));
    }
}

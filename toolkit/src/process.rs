//! What the program itself costs, under the names every Prometheus client library uses (`process_*`).

use prometheus::core::Collector as _;
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::MetricFamily;

/// CPU seconds, descriptors, memory, threads and start time of this process.
pub fn families() -> Vec<MetricFamily> {
    ProcessCollector::for_self().collect()
}

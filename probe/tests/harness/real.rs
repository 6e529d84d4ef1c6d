//! What the suites against real servers share: a target, a connect, and what a prober has counted.

use std::path::Path;
use std::time::{Duration, Instant};

use probe::config::{self, Config};
use probe::engine::{self, Failure, Phases, Session};
use probe::prober::Prober;
use toolkit::metric::{Sink, family};

/// A configuration of one target `t` over `address`, with a workload `w`.
pub(crate) fn config(
    engine: &str,
    address: &str,
    user: &str,
    rest: &str,
    query: &str,
    workload: &str,
) -> Config {
    let text = format!(
        "targets:\n  - name: t\n    engine: {engine}\n    address: {address}\n    user: {user}\n    \
         node: n\n    workloads: [w, point-select]\n{rest}\
         workloads:\n  - name: w\n    query: {query}\n    pattern: {{every: 20ms}}\n{workload}"
    );
    config::parse(Path::new("/tmp/probe.yaml"), &text).unwrap()
}

/// Connects for the workload at `index`.
pub(crate) fn connect(
    config: &Config,
    index: usize,
) -> (Result<Box<dyn Session>, Failure>, Phases) {
    let target = &config.targets[0];
    let mut phases = Phases::default();
    let session = engine::of(target).connect(&target.workloads[index], &mut phases);
    (session, phases)
}

pub(crate) fn failure<T>(outcome: Result<T, Failure>) -> Failure {
    outcome.err().expect("this was to fail")
}

/// The sum of a counter over the series whose label `name` is `value`.
pub(crate) fn counter(prober: &Prober, metric: &str, name: &str, value: &str) -> f64 {
    let mut sink = Sink::new();
    prober.emit(&mut sink);
    let families = sink.into_families();
    let Some(found) = family(&families, metric) else {
        return 0.0;
    };
    let matching = found.samples().filter(|s| s.label(name) == Some(value));
    matching.map(|s| s.value().unwrap()).sum()
}

pub(crate) fn queries(prober: &Prober, result: &str) -> f64 {
    counter(prober, "wakelag_probe_queries_total", "result", result)
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

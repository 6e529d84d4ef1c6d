//! The selectors and forms of query that every panel shares, so that no panel forgets a variable.

/// A probe's family, narrowed by every variable that applies and by `more` (`,label="value"`).
pub(crate) fn probe(family: &str, more: &str) -> String {
    format!(r#"{family}{{node=~"$node",target=~"$target",workload=~"$workload"{more}}}"#)
}

/// An exporter's family, narrowed by the node and by `more`.
///
/// `node` is a label of the scrape target there (see dashboards/README.md), and a label of the series in the probe.
pub(crate) fn host(family: &str, more: &str) -> String {
    format!(r#"{family}{{node=~"$node"{more}}}"#)
}

/// The `q`-quantile of service time over the last moments, one series for each value of the labels `by`.
///
/// `> 0` drops series without samples (not a number), such as those of a profile that is over.
pub(crate) fn service_quantile(q: &str, by: &str, more: &str) -> String {
    let buckets = probe("wakelag_probe_service_seconds_bucket", more);
    format!("(histogram_quantile({q}, sum by (le, {by}) (rate({buckets}[$__rate_interval]))) > 0)")
}

/// The same over the whole range the dashboard shows.
pub(crate) fn service_quantile_of_range(q: &str, by: &str, more: &str) -> String {
    let buckets = probe("wakelag_probe_service_seconds_bucket", more);
    format!("(histogram_quantile({q}, sum by (le, {by}) (increase({buckets}[$__range]))) > 0)")
}

/// Watts of the CPU packages of each node: `package-*` zones only, for `core` and `uncore` are inside a package and
/// `psys` has the packages inside it; the maximum over control types, for `intel-rapl-mmio` is the same counter again.
pub(crate) fn package_watts() -> String {
    let joules = host("wakelag_rapl_energy_joules_total", r#",name=~"package-.*""#);
    format!("sum by (node) (max by (node, name) (rate({joules}[$__rate_interval])))")
}

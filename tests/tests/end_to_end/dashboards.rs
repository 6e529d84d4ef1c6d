//! Every query of every dashboard, asked of a real Prometheus.

use tests::golden::repository;

use crate::served::Served;

/// Every query of every dashboard returns data, with its variables set to everything.
pub(crate) fn check_dashboards(served: &Served<'_>) {
    let mut asked = 0;
    for (title, query) in dashboard_queries() {
        let query = [
            ("$__rate_interval", "10s"),
            ("$__range", "1m"),
            ("$quantile", "0.99"),
            ("$node", ".+"),
            ("$target", ".+"),
            ("$workload", ".+"),
        ]
        .iter()
        .fold(query, |query, (variable, value)| {
            query.replace(variable, value)
        });
        served.wait_for(&query, &title, |series| {
            !series.is_empty() && series.iter().all(|series| series.value.is_finite())
        });
        asked += 1;
    }
    assert!(
        asked > 10,
        "only {asked} queries were found in the dashboards"
    );
}

/// Title and expression of each target of each panel.
fn dashboard_queries() -> Vec<(String, String)> {
    let mut queries = Vec::new();
    for entry in std::fs::read_dir(repository().join("dashboards")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
        for panel in dashboard["panels"].as_array().into_iter().flatten() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
                queries.push((text(&panel["title"]), text(&target["expr"])));
            }
        }
    }
    queries
}

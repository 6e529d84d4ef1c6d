//! The dashboards: every query names only what exists, and the rules of grafana/dashboard-linter that apply hold
//! (for all kinds of panel; `dashboards/.lint` has those that do not apply, with the reason). Read from the committed
//! files, the ones users copy.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod promql;

use std::collections::BTreeSet;

use promql::{Catalogue, Labels, assert_none, between};
use serde_json::Value;

/// Stand in for the variables of durations: so odd that no query has them by itself.
const RATE_INTERVAL: &str = "86413s";
const RANGE: &str = "86417s";

/// Units of Grafana that the dashboards use; one outside this list is a slip, or to be added here.
const UNITS: [&str; 8] = [
    "s",
    "hertz",
    "watt",
    "joule",
    "percentunit",
    "ops",
    "short",
    "none",
];

/// Transformations that Grafana's data package has; the others can only be tried in a running Grafana.
const TRANSFORMATIONS: [&str; 3] = ["joinByField", "filterFieldsByName", "organize"];

fn dashboards() -> Vec<Value> {
    let paths = dashboards::all().into_iter().map(|d| dashboards::path(&d));
    let texts = paths.map(|path| std::fs::read_to_string(path).unwrap());
    texts
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Every panel but the headings of rows, with what to call it in a complaint.
fn panels(dashboard: &Value) -> impl Iterator<Item = (String, &Value)> {
    let panels = list(&dashboard["panels"]).iter();
    panels.filter(|panel| panel["type"] != "row").map(|panel| {
        let name = format!("{}: {}", text(dashboard, "title"), text(panel, "title"));
        (name, panel)
    })
}

/// What Grafana would send.
fn expanded(expr: &str) -> String {
    expr.replace("$__rate_interval", RATE_INTERVAL)
        .replace("$__range", RANGE)
        .replace("$quantile", "0.99")
        .replace("$node", ".+")
        .replace("$target", ".+")
        .replace("$workload", ".+")
}

/// Checks a query and the `{{label}}` of the texts that name its series.
fn check(catalogue: &Catalogue, expr: &str, texts: &[&str]) -> Result<(), String> {
    let expr = expanded(expr);
    if expr.contains('$') {
        return Err(format!("a variable no dashboard has\n    in {expr}"));
    }
    let labels: Labels = catalogue.check(&expr)?;
    let named = texts.iter().flat_map(|text| between(text, "{{", "}}"));
    match named.into_iter().find(|label| !labels.contains(*label)) {
        Some(label) => Err(format!(
            "{{{{{label}}}}} is no label of the result\n    of {expr}"
        )),
        None => Ok(()),
    }
}

#[test]
fn queries_and_legends_name_only_metrics_and_labels_that_exist() {
    let catalogue = Catalogue::load();
    let mut complaints = Vec::new();
    for dashboard in dashboards() {
        for (name, panel) in panels(&dashboard) {
            for target in list(&panel["targets"]) {
                let legend = text(target, "legendFormat");
                if let Err(error) = check(&catalogue, text(target, "expr"), &[legend]) {
                    complaints.push(format!("{name}: {error}"));
                }
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn annotations_name_only_metrics_and_labels_that_exist() {
    let catalogue = Catalogue::load();
    let mut complaints = Vec::new();
    for dashboard in dashboards() {
        for annotation in list(&dashboard["annotations"]["list"]) {
            let texts = [
                text(annotation, "titleFormat"),
                text(annotation, "textFormat"),
            ];
            if let Err(error) = check(&catalogue, text(annotation, "expr"), &texts) {
                complaints.push(format!("{}: {error}", text(annotation, "name")));
            }
            if annotation["useValueForTime"] != true {
                complaints.push(format!(
                    "{}: the value is the time",
                    text(annotation, "name")
                ));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn variables_list_existing_labels_again_when_the_time_changes() {
    let catalogue = Catalogue::load();
    let mut complaints = Vec::new();
    for dashboard in dashboards() {
        let variables = list(&dashboard["templating"]["list"]);
        assert_eq!(variables[0]["name"], "datasource");
        assert_eq!(variables[0]["label"], "Data source");
        for variable in variables.iter().filter(|v| v["type"] == "query") {
            let name = text(variable, "name");
            let query = text(&variable["query"], "query");
            let inside = query
                .strip_prefix("label_values(")
                .and_then(|q| q.strip_suffix(')'));
            let (series, label) = inside.and_then(|q| q.rsplit_once(", ")).unwrap();
            match catalogue.check(&expanded(series)) {
                Err(error) if !error.contains("is a counter") => {
                    complaints.push(format!("{name}: {error}"))
                }
                Ok(labels) if !labels.contains(label) => {
                    complaints.push(format!("{name}: no label {label}"))
                }
                _ => {}
            }
            let expected: [(&str, Value); 3] = [
                ("refresh", 2.into()),
                ("multi", true.into()),
                ("allValue", ".+".into()),
            ];
            for (key, value) in expected {
                if variable[key] != value {
                    complaints.push(format!("{name}: {key} is not {value}"));
                }
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn rates_follow_the_scrape_interval_and_increases_the_chosen_range() {
    let mut complaints = Vec::new();
    for dashboard in dashboards() {
        for (name, panel) in panels(&dashboard) {
            for target in list(&panel["targets"]) {
                let expr = expanded(text(target, "expr"));
                for (function, window) in [("rate(", RATE_INTERVAL), ("increase(", RANGE)] {
                    let windows = between(&expr, function, "]");
                    if windows.iter().any(|inside| !inside.ends_with(window)) {
                        complaints.push(format!(
                            "{name}: {function}) over another window\n    in {expr}"
                        ));
                    }
                }
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn every_panel_says_what_it_is_and_why_it_may_be_empty() {
    let mut complaints = Vec::new();
    for dashboard in dashboards() {
        for (name, panel) in panels(&dashboard) {
            let defaults = &panel["fieldConfig"]["defaults"];
            let description = text(panel, "description");
            let parts = [
                "**How to read it:** ",
                "**Bad looks like:** ",
                "**What to do:** ",
            ];
            if parts.iter().any(|part| !description.contains(part)) || description.starts_with('\n')
            {
                complaints.push(format!("{name}: the description lacks a part"));
            }
            if text(panel, "title").is_empty() || text(defaults, "noValue").is_empty() {
                complaints.push(format!("{name}: no title, or no text for no value"));
            }
            if !UNITS.contains(&text(defaults, "unit")) {
                complaints.push(format!("{name}: unit {}", defaults["unit"]));
            }
            if list(&panel["targets"]).is_empty() {
                complaints.push(format!("{name}: no query"));
            }
            let ids = list(&panel["transformations"])
                .iter()
                .map(|t| text(t, "id"));
            for id in ids.filter(|id| !TRANSFORMATIONS.contains(id)) {
                complaints.push(format!("{name}: transformation {id}"));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn everything_asks_the_chosen_data_source() {
    let mut complaints = Vec::new();
    for dashboard in dashboards() {
        let queried = list(&dashboard["templating"]["list"])
            .iter()
            .filter(|v| v["type"] == "query");
        let mut askers: Vec<&Value> = queried.collect();
        askers.extend(list(&dashboard["annotations"]["list"]));
        for (_, panel) in panels(&dashboard) {
            askers.push(panel);
            askers.extend(list(&panel["targets"]));
        }
        for asker in askers {
            let source = &asker["datasource"];
            if source["type"] != "prometheus" || source["uid"] != "${datasource}" {
                complaints.push(format!("{asker}"));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn dashboards_can_be_provisioned_and_not_edited() {
    let mut uids = BTreeSet::new();
    for dashboard in dashboards() {
        assert_eq!(
            dashboard["schemaVersion"], 39,
            "a newer one does not open in Grafana 11"
        );
        assert_eq!(dashboard["editable"], false);
        assert_eq!(dashboard["graphTooltip"], 1);
        assert!(
            dashboard.get("id").is_none(),
            "an id belongs to one database"
        );
        let uid = text(&dashboard, "uid").to_owned();
        assert!((1..=40).contains(&uid.len()), "{uid}");
        assert!(uids.insert(uid));
    }
}

#[test]
fn panels_have_numbers_and_places_of_their_own() {
    for dashboard in dashboards() {
        let mut ids = BTreeSet::new();
        let mut taken = BTreeSet::new();
        for panel in list(&dashboard["panels"]) {
            let title = text(panel, "title");
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
            let side = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            let (x, y, w, h) = (side("x"), side("y"), side("w"), side("h"));
            assert!(w > 0 && h > 0 && x + w <= 24, "{title} is outside the grid");
            for cell in (x..x + w).flat_map(|column| (y..y + h).map(move |line| (column, line))) {
                assert!(taken.insert(cell), "{title} lies over another panel");
            }
            let targets = list(&panel["targets"]);
            let refs: BTreeSet<&str> = targets.iter().map(|t| text(t, "refId")).collect();
            assert_eq!(refs.len(), targets.len(), "{title}: refId twice");
        }
    }
}

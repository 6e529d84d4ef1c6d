//! The recording and alerting rules: what they name exists, and promtool accepts them and finds what they promise.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod promql;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Command;

use promql::{Catalogue, Labels, assert_none, between, labels, root};
use serde_yaml::Value;

/// One rule of a file.
#[derive(Debug)]
struct Rule {
    record: Option<String>,
    alert: Option<String>,
    expr: String,
    labels: Labels,
    annotations: Vec<(String, String)>,
    severity: Option<String>,
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let text = |key: &str| rule[key].as_str().map(str::to_owned);
        let pairs = |key: &str| -> Vec<(String, String)> {
            let pairs = rule[key].as_mapping().into_iter().flatten();
            pairs.map(|(key, value)| (word(key), word(value))).collect()
        };
        let own = pairs("labels");
        Rule {
            record: text("record"),
            alert: text("alert"),
            expr: text("expr").unwrap(),
            labels: labels(own.iter().map(|(key, _)| key.as_str())),
            annotations: pairs("annotations"),
            severity: own
                .into_iter()
                .find(|(key, _)| key == "severity")
                .map(|(_, value)| value),
        }
    }

    fn annotation(&self, name: &str) -> &str {
        let found = self.annotations.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, text)| text)
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The YAML files of `dashboards/rules`, or of a directory in it.
fn files(within: &str) -> Vec<PathBuf> {
    let directory = root().join("dashboards/rules").join(within);
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "yaml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for file in files("") {
        let text = std::fs::read_to_string(&file).unwrap();
        let yaml: Value = serde_yaml::from_str(&text).unwrap();
        for group in yaml["groups"].as_sequence().unwrap() {
            rules.extend(group["rules"].as_sequence().unwrap().iter().map(Rule::read));
        }
    }
    rules
}

/// The catalogue with every recorded series, and each rule with the labels of its result. Rules may use one another in
/// any order, so those whose series are not known yet are tried again.
fn inferred() -> Vec<(Rule, Labels)> {
    let mut catalogue = Catalogue::load();
    let mut waiting: VecDeque<Rule> = rules().into();
    let mut done = Vec::new();
    let mut tried = 0;
    while let Some(rule) = waiting.pop_front() {
        match catalogue.check(&rule.expr) {
            Ok(mut labels) => {
                labels.extend(rule.labels.iter().cloned());
                if let Some(name) = &rule.record {
                    catalogue.record(name, labels.clone()).unwrap();
                }
                done.push((rule, labels));
                tried = 0;
            }
            Err(error) => {
                assert!(tried <= waiting.len(), "{error}");
                waiting.push_back(rule);
                tried += 1;
            }
        }
    }
    done
}

#[test]
fn rules_name_only_metrics_and_labels_that_exist() {
    assert!(inferred().len() > 20);
}

/// `level:metric:operations`: the level lists the labels of the series.
#[test]
fn the_level_of_a_recorded_series_is_its_labels() {
    for (rule, found) in inferred() {
        let Some(name) = rule.record else { continue };
        let parts: Vec<&str> = name.split(':').collect();
        assert_eq!(parts.len(), 3, "{name}");
        assert_eq!(labels(parts[0].split('_')), found, "{name}");
    }
}

#[test]
fn alerts_say_how_bad_what_and_where() {
    let mut complaints = Vec::new();
    for (rule, _) in inferred() {
        let Some(name) = &rule.alert else { continue };
        if !name.starts_with("Wakelag") {
            complaints.push(format!("{name}: alerts begin with Wakelag"));
        }
        let severity = rule.severity.as_deref().unwrap_or_default();
        if !["info", "warning", "critical"].contains(&severity) {
            complaints.push(format!("{name}: severity {severity:?}"));
        }
        let summary = rule.annotation("summary");
        if !summary.ends_with('.') || summary.contains("{{") {
            complaints.push(format!("{name}: the summary is one fixed sentence"));
        }
        if !rule.annotation("description").contains(' ') {
            complaints.push(format!("{name}: no description"));
        }
    }
    assert_none(&complaints);
}

#[test]
fn annotations_name_only_labels_the_alert_has() {
    let mut complaints = Vec::new();
    for (rule, found) in inferred() {
        let Some(name) = &rule.alert else { continue };
        for (_, text) in &rule.annotations {
            let end = |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            for rest in text.split("$labels.").skip(1) {
                let label = &rest[..end(rest).unwrap_or(rest.len())];
                if !found.contains(label) {
                    complaints.push(format!("{name}: no label {label} among {found:?}"));
                }
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn queries_in_annotations_name_only_what_exists() {
    let mut catalogue = Catalogue::load();
    let rules = inferred();
    for (rule, labels) in &rules {
        if let Some(name) = &rule.record {
            catalogue.record(name, labels.clone()).unwrap();
        }
    }
    let mut seen = 0;
    for (rule, _) in &rules {
        for (_, text) in &rule.annotations {
            for query in between(text, "query (printf \"", "\" ") {
                catalogue.check(&query.replace("%q", "\"db1\"")).unwrap();
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "the annotations say which settings changed");
}

fn promtool(arguments: &[&str], files: &[PathBuf]) {
    let output = Command::new("promtool")
        .args(arguments)
        .args(files)
        .output();
    let output = output.expect("promtool comes with Debian's package prometheus");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn promtool_accepts_the_rules() {
    promtool(
        &["check", "rules", "--lint=all", "--lint-fatal"],
        &files(""),
    );
}

/// One process a file: they take seconds.
#[test]
fn promtool_finds_what_the_rules_promise() {
    std::thread::scope(|scope| {
        for file in files("tests") {
            scope.spawn(move || promtool(&["test", "rules"], &[file]));
        }
    });
}

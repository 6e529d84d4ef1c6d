//! METRICS.md and catalogue.json, written from the metric statics and kept with them, and rules every metric obeys.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;
use tests::golden;
use toolkit::metric::{Desc, Kind, Roll};

/// Every metric of ours with the room it comes from, in the order of the reference.
fn metrics() -> Vec<(String, &'static Desc)> {
    let exporter = exporter::metrics();
    let exporter = exporter
        .into_iter()
        .map(|(room, desc)| (format!("exporter/{room}"), desc));
    let probe = probe::metrics()
        .iter()
        .map(|desc| ("probe".to_owned(), *desc));
    let toolkit = toolkit::build::METRICS
        .iter()
        .map(|desc| ("both/build".to_owned(), *desc));
    exporter.chain(probe).chain(toolkit).collect()
}

/// What is published where the label `cpu` is given up.
fn rolled_up(desc: &Desc) -> Option<&'static str> {
    let has_cpu = desc.labels.contains(&"cpu");
    desc.roll.filter(|_| has_cpu).map(Roll::word)
}

#[test]
fn the_catalogue_is_up_to_date() {
    let metrics: Vec<_> = metrics()
        .iter()
        .map(|(source, desc)| {
            json!({
                "name": desc.name,
                "type": desc.kind.word(),
                "help": desc.help,
                "labels": desc.labels,
                "rolled_up": rolled_up(desc),
                "source": source,
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "metrics": metrics })).unwrap();
    golden::compare("dashboards/catalogue.json", &format!("{text}\n"));
}

#[test]
fn the_reference_is_up_to_date() {
    let mut text = String::from(
        "# Metrics\n\n\
         Written from the source by `UPDATE_GOLDEN=1 cargo test -p tests --test catalogue`; do not edit.\n\n\
         Both programs also publish the `process_*` families that every Prometheus client library has.\n\n\
         Where `--cardinality` gives up the label `cpu`, the samples that fall together become one: their sum, the min or max\n\
         of them, or the count of those that are 1.\n",
    );
    let mut room = String::new();
    for (source, desc) in metrics() {
        if source != room {
            write!(
                text,
                "\n## {source}\n\n| metric | type | labels | rolled up | meaning |\n|---|---|---|---|---|\n"
            )
            .unwrap();
            room = source;
        }
        let labels = desc.labels.join(", ");
        writeln!(
            text,
            "| {} | {} | {labels} | {} | {} |",
            desc.name,
            desc.kind.word(),
            rolled_up(desc).unwrap_or_default(),
            desc.help
        )
        .unwrap();
    }
    golden::compare("dashboards/METRICS.md", &text);
}

#[test]
fn names_are_unique_and_in_the_style_of_prometheus() {
    let mut names = BTreeSet::new();
    for (_, desc) in metrics() {
        assert!(names.insert(desc.name), "{} is there twice", desc.name);
        assert!(desc.name.starts_with("wakelag_"), "{}", desc.name);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(desc.name.chars().all(plain), "{}", desc.name);
        assert!(
            desc.labels.iter().all(|l| l.chars().all(plain)),
            "{:?}",
            desc.labels
        );
        assert_eq!(
            desc.name.ends_with("_total"),
            desc.kind == Kind::Counter,
            "{}",
            desc.name
        );
        let distinct: BTreeSet<_> = desc.labels.iter().collect();
        assert_eq!(
            distinct.len(),
            desc.labels.len(),
            "{}: {:?}",
            desc.name,
            desc.labels
        );
    }
}

#[test]
fn a_metric_of_a_cpu_says_how_it_is_rolled_up() {
    for (_, desc) in metrics() {
        let expected = desc.labels.contains(&"cpu") || desc.kind == Kind::Counter;
        assert_eq!(desc.roll.is_some(), expected, "{}", desc.name);
        if desc.kind == Kind::Counter {
            assert_eq!(desc.roll, Some(Roll::Sum), "{}", desc.name);
        }
    }
}

#[test]
fn units_are_base_units_spelled_out() {
    const SCALED: [&str; 12] = [
        "_ms", "_us", "_ns", "_khz", "_mhz", "_uj", "_uw", "milli", "micro", "nano", "percent",
        "_kb",
    ];
    for (_, desc) in metrics() {
        for unit in SCALED {
            let scaled = desc.name.ends_with(unit) || desc.name.contains(&format!("{unit}_"));
            assert!(!scaled, "{} is in {unit}", desc.name);
        }
        if desc.kind == Kind::Histogram {
            assert!(desc.name.ends_with("_seconds"), "{}", desc.name);
        }
    }
}

#[test]
fn help_is_a_sentence() {
    for (_, desc) in metrics() {
        let first = desc.help.chars().next().unwrap();
        assert!(first.is_ascii_uppercase(), "{}: {}", desc.name, desc.help);
        assert!(desc.help.ends_with('.'), "{}: {}", desc.name, desc.help);
        assert!(
            desc.help.len() > 10 && !desc.help.contains('|'),
            "{}: {}",
            desc.name,
            desc.help
        );
    }
}

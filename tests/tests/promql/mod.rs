//! Whether a PromQL expression names only what exists: metrics and labels of `dashboards/catalogue.json`, series of
//! the recording rules, and what a scrape adds.

mod infer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use promql_parser::parser;
use serde_json::Value;

/// Names of labels.
pub(crate) type Labels = BTreeSet<String>;

/// What a scrape adds to every series; `node` by the shipped scrape configuration.
const SCRAPED: [&str; 3] = ["instance", "job", "node"];

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A set of labels out of their names.
pub(crate) fn labels<'n>(names: impl IntoIterator<Item = &'n str>) -> Labels {
    names.into_iter().map(str::to_owned).collect()
}

/// One series name that may be asked for.
#[derive(Debug)]
struct Series {
    labels: Labels,
    /// Makes sense only inside rate() or increase().
    cumulative: bool,
}

/// Every series name that may be asked for.
#[derive(Debug)]
pub(crate) struct Catalogue(BTreeMap<String, Series>);

impl Catalogue {
    /// The metrics of both programs, and Prometheus' own.
    pub(crate) fn load() -> Self {
        let path = root().join("dashboards/catalogue.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let mut catalogue = Catalogue(BTreeMap::new());
        for metric in json["metrics"].as_array().unwrap() {
            catalogue.add_metric(metric);
        }
        catalogue.add("up", labels([]), false);
        catalogue.add("ALERTS", labels(["alertname", "alertstate"]), false);
        catalogue
    }

    fn add_metric(&mut self, metric: &Value) {
        let name = metric["name"].as_str().unwrap();
        let own = metric["labels"].as_array().unwrap();
        let own = labels(own.iter().map(|label| label.as_str().unwrap()));
        match metric["type"].as_str().unwrap() {
            "histogram" => {
                let mut with_bound = own.clone();
                with_bound.insert("le".to_owned());
                self.add(&format!("{name}_bucket"), with_bound, true);
                self.add(&format!("{name}_sum"), own.clone(), true);
                self.add(&format!("{name}_count"), own, true);
            }
            kind => self.add(name, own, kind == "counter"),
        }
    }

    fn add(&mut self, name: &str, mut labels: Labels, cumulative: bool) {
        labels.extend(SCRAPED.map(str::to_owned));
        let series = Series { labels, cumulative };
        self.0.insert(name.to_owned(), series);
    }

    /// Adds the series of a recording rule.
    ///
    /// # Errors
    /// Where the same name was recorded with other labels.
    #[allow(dead_code, reason = "not every test binary has recording rules")]
    pub(crate) fn record(&mut self, name: &str, labels: Labels) -> Result<(), String> {
        if let Some(known) = self.0.get(name) {
            return if known.labels == labels {
                Ok(())
            } else {
                Err(format!("{name} is recorded with other labels, too"))
            };
        }
        let cumulative = false;
        let series = Series { labels, cumulative };
        self.0.insert(name.to_owned(), series);
        Ok(())
    }

    /// Checks an expression; gives the labels of its result, none for a scalar.
    ///
    /// # Errors
    /// Says what does not exist, or cannot match.
    pub(crate) fn check(&self, expr: &str) -> Result<Labels, String> {
        let told = |error: String| format!("{error}\n    in {expr}");
        let parsed = parser::parse(expr).map_err(told)?;
        let labels = infer::labels_of(self, &parsed).map_err(told)?;
        Ok(labels.unwrap_or_default())
    }
}

/// The expressions between `open` and `close`: `{{label}}`, or what a template names.
pub(crate) fn between<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    text.split(open)
        .skip(1)
        .filter_map(|rest| rest.split_once(close))
        .map(|(inside, _)| inside.trim())
        .collect()
}

/// Fails with one line for each complaint.
pub(crate) fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

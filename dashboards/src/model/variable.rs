//! Choices at the top of a dashboard, and events drawn across its panels.

use serde_json::{Value, json};

/// A choice at the top of a dashboard.
#[derive(Debug)]
pub enum Variable {
    /// Values of a label, several at once, or all.
    Label {
        /// Name of the variable, and of the label.
        name: &'static str,
        /// What the user reads.
        label: &'static str,
        /// A series that exists once for each value: cheap to list.
        series: &'static str,
    },
    /// One of a fixed list.
    Choice {
        /// Name of the variable.
        name: &'static str,
        /// What the user reads.
        label: &'static str,
        /// The values; the first is the default.
        values: &'static [&'static str],
    },
}

impl Variable {
    pub(super) fn json(&self) -> Value {
        match self {
            Variable::Label {
                name,
                label,
                series,
            } => {
                let query = format!("label_values({series}, {name})");
                json!({
                    "type": "query", "name": name, "label": label, "datasource": super::datasource(),
                    "definition": query, "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1,
                    "multi": true, "includeAll": true, "allValue": ".+",
                    "current": {"text": ["All"], "value": ["$__all"]},
                })
            }
            Variable::Choice {
                name,
                label,
                values,
            } => {
                let options: Vec<Value> = values
                    .iter()
                    .map(|value| json!({"text": value, "value": value, "selected": value == &values[0]}))
                    .collect();
                json!({
                    "type": "custom", "name": name, "label": label, "query": values.join(","),
                    "options": options, "current": {"text": values[0], "value": values[0]},
                })
            }
        }
    }
}

/// The variable that says which Prometheus to ask.
pub(super) fn datasource() -> Value {
    json!({"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"})
}

/// Events drawn as lines across all panels.
#[derive(Debug)]
pub struct Annotation {
    /// What the switch at the top of the dashboard says.
    pub name: &'static str,
    /// Whether they are drawn until the user switches them off.
    pub on: bool,
    /// Colour of the lines.
    pub color: &'static str,
    /// A query whose value is the time of the event, in seconds since 1970; 0 is no event.
    pub at_seconds: String,
    /// Heading of an event, with `{{label}}`.
    pub title: &'static str,
    /// Text of an event, with `{{label}}`.
    pub text: &'static str,
}

impl Annotation {
    /// The *value* is the time: one exact line an event, at any zoom. `changes(x[1m]) > 0` would lose the event or
    /// draw it twice where the step of a long range is not the window (grafana/grafana#6058, #14795).
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name, "enable": self.on, "hide": false, "iconColor": self.color,
            "datasource": super::datasource(), "expr": format!("(({}) > 0) * 1000", self.at_seconds),
            "useValueForTime": true, "step": "60s", "titleFormat": self.title, "textFormat": self.text,
            "tagKeys": "node",
        })
    }
}

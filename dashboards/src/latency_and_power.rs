//! "Latency and power": what the queries take, under which settings, and what those settings save.

mod latency;
mod power;
mod trust;

use crate::model::{Annotation, Dashboard, Row, Variable};
use crate::query::host;

/// The dashboard.
pub fn dashboard() -> Dashboard {
    Dashboard {
        uid: "latency-and-power",
        title: "Latency and power",
        description: "What queries take, under which power settings of the host they ran, and what those settings \
                      save. Read it from the top: the figures now, the course of latency, the host beside it, then \
                      the profiles side by side.",
        variables: variables(),
        annotations: annotations(),
        rows: vec![
            Row {
                title: "In short",
                panels: vec![
                    latency::typical(),
                    latency::slow(),
                    latency::wake_up_cost(),
                    power::packages_now(),
                    power::profile_now(),
                ],
            },
            Row {
                title: "What a query takes",
                panels: vec![
                    latency::median(),
                    latency::tail(),
                    latency::first_against_next(),
                    latency::by_profile(),
                ],
            },
            Row {
                title: "What the host does meanwhile",
                panels: vec![
                    power::idle_states(),
                    power::frequency(),
                    power::zones(),
                    power::profile_over_time(),
                ],
            },
            Row {
                title: "Profiles side by side, over the chosen time",
                panels: vec![power::profiles()],
            },
            Row {
                title: "Can the figures be trusted",
                panels: vec![trust::results(), trust::late_starts()],
            },
        ],
    }
}

fn variables() -> Vec<Variable> {
    vec![
        Variable::Label {
            name: "node",
            label: "Node",
            // Both carry the `node` that the panels select by; the exporter's own say, wakelag_node_info, need not.
            series: r#"{__name__=~"wakelag_profile_changes_total|wakelag_probe_up"}"#,
        },
        Variable::Label {
            name: "target",
            label: "Target",
            series: r#"wakelag_probe_up{node=~"$node"}"#,
        },
        Variable::Label {
            name: "workload",
            label: "Workload",
            series: r#"wakelag_probe_queries_total{node=~"$node",target=~"$target"}"#,
        },
        Variable::Choice {
            name: "quantile",
            label: "Slow means quantile",
            values: &["0.99", "0.9", "0.999"],
        },
    ]
}

fn annotations() -> Vec<Annotation> {
    let active = host("wakelag_profile_active", "");
    let profile_changed = host("wakelag_profile_last_change_timestamp_seconds", "");
    let setting_changed = host("wakelag_setting_last_change_timestamp_seconds", "");
    vec![
        Annotation {
            name: "Profile changes",
            on: true,
            color: "purple",
            // The active profile (value 1) names the event, the time of the change is its value.
            at_seconds: format!(
                "max by (node, profile) ({active} == 1) * on (node) group_left () max by (node) ({profile_changed})"
            ),
            title: "{{profile}}",
            text: "Profile in force on {{node}} from here on",
        },
        Annotation {
            name: "Setting changes",
            on: false,
            color: "orange",
            at_seconds: format!("max by (node, setting) ({setting_changed})"),
            title: "{{setting}} changed",
            text: "On {{node}}",
        },
    ]
}

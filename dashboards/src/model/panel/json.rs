//! A panel as Grafana reads it.

use serde_json::{Map, Value, json};

use super::{Kind, Panel, Query};
use crate::model::datasource;

impl Panel {
    pub(in crate::model) fn json(&self, id: u64, place: Value) -> Value {
        let mut panel = json!({
            "id": id, "type": self.type_name(), "title": self.title, "description": self.guide.description(),
            "datasource": datasource(), "gridPos": place,
            "targets": self.targets(),
            "fieldConfig": {"defaults": self.defaults(), "overrides": self.overrides()},
            "options": self.options(),
        });
        if let Kind::Table { key } = self.kind {
            panel["transformations"] = self.joined(key);
        }
        panel
    }

    const fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Series { .. } => "timeseries",
            Kind::Stat { .. } => "stat",
            Kind::Table { .. } => "table",
            Kind::Timeline => "state-timeline",
        }
    }

    fn targets(&self) -> Vec<Value> {
        let instant = matches!(self.kind, Kind::Stat { .. } | Kind::Table { .. });
        let format = match self.kind {
            Kind::Table { .. } => "table",
            _ => "time_series",
        };
        let target = |(ref_id, query): (char, &Query)| {
            json!({
                "refId": ref_id, "datasource": datasource(), "expr": query.expr,
                "legendFormat": query.legend, "format": format, "instant": instant, "range": !instant,
            })
        };
        ('A'..='Z').zip(&self.queries).map(target).collect()
    }

    fn defaults(&self) -> Value {
        let mut defaults = json!({"unit": self.unit.id(), "noValue": self.guide.empty});
        match self.kind {
            Kind::Series { stacked } => {
                let fill = if stacked { 40 } else { 0 };
                let mode = if stacked { "normal" } else { "none" };
                defaults["custom"] = json!({
                    "drawStyle": "line", "lineWidth": 1, "fillOpacity": fill, "showPoints": "auto",
                    "spanNulls": false, "stacking": {"group": "A", "mode": mode},
                });
                if stacked {
                    defaults["min"] = json!(0);
                    defaults["max"] = json!(1);
                }
            }
            Kind::Stat { .. } => defaults["color"] = json!({"mode": "fixed", "fixedColor": "text"}),
            Kind::Table { .. } => {}
            Kind::Timeline => {
                defaults["custom"] = json!({"fillOpacity": 80, "lineWidth": 0});
                defaults["mappings"] = json!([{"type": "value", "options": {
                    "0": {"text": " ", "color": "transparent", "index": 0},
                    "1": {"text": "in force", "color": "blue", "index": 1},
                }}]);
            }
        }
        defaults
    }

    /// Units of the columns of a table.
    fn overrides(&self) -> Vec<Value> {
        let column = |query: &Query| {
            json!({
                "matcher": {"id": "byName", "options": query.legend},
                "properties": [{"id": "unit", "value": query.unit.id()}],
            })
        };
        match self.kind {
            Kind::Table { .. } => self.queries.iter().map(column).collect(),
            _ => Vec::new(),
        }
    }

    fn options(&self) -> Value {
        match self.kind {
            Kind::Series { .. } => json!({
                "legend": {"showLegend": true, "displayMode": "table", "placement": "bottom", "calcs": ["mean", "max"]},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }),
            Kind::Stat { names } => json!({
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
                "textMode": if names { "name" } else { "value_and_name" },
                "colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto",
            }),
            Kind::Table { .. } => json!({"showHeader": true, "cellHeight": "sm"}),
            Kind::Timeline => json!({
                "mergeValues": true, "showValue": "never", "rowHeight": 0.8,
                "legend": {"showLegend": false, "displayMode": "list", "placement": "bottom"},
                "tooltip": {"mode": "single", "sort": "none"},
            }),
        }
    }

    /// Makes one table of one instant query a column. Only transformations that are part of Grafana's data package,
    /// so that they can be tested without a server.
    fn joined(&self, key: &str) -> Value {
        let mut kept = vec![json!(key)];
        let mut titles = Map::new();
        for (ref_id, query) in ('A'..='Z').zip(&self.queries) {
            let field = format!("Value #{ref_id}");
            kept.push(json!(field));
            titles.insert(field, json!(query.legend));
        }
        json!([
            {"id": "joinByField", "options": {"byField": key, "mode": "outer"}},
            {"id": "filterFieldsByName", "options": {"include": {"names": kept}}},
            {"id": "organize", "options": {"renameByName": titles, "excludeByName": {}, "indexByName": {}}},
        ])
    }
}

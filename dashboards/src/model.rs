//! A small model of Grafana's classic dashboard: as much of it as these dashboards use, and no field without a use.
//!
//! Format: the classic model with `schemaVersion` 39, the one that file provisioning and the import page of Grafana 11
//! to 13 both take (the newer v2 model cannot be provisioned from files, grafana/grafana#127928). Grafana migrates an
//! older version up and never a newer one down, so no field here is younger than that version.

mod panel;
mod variable;

pub use panel::{Guide, Panel, Unit};
pub use variable::{Annotation, Variable};

use serde_json::{Value, json};

/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;

/// The data source every panel, query, variable and annotation names: the variable `datasource`, so that one file
/// serves provisioning and import alike.
fn datasource() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// A dashboard.
#[derive(Debug)]
pub struct Dashboard {
    /// Stable name in Grafana's addresses, and of the file; at most 40 characters.
    pub uid: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What question it answers.
    pub description: &'static str,
    /// Choices at its top, after the data source.
    pub variables: Vec<Variable>,
    /// Events drawn across its panels.
    pub annotations: Vec<Annotation>,
    /// Its panels, in reading order.
    pub rows: Vec<Row>,
}

/// Panels under one heading.
#[derive(Debug)]
pub struct Row {
    /// Heading.
    pub title: &'static str,
    /// Laid out from left to right, onto a new line where the width is used up.
    pub panels: Vec<Panel>,
}

impl Dashboard {
    /// The file's name in `dashboards/`.
    pub fn file_name(&self) -> String {
        format!("{}.json", self.uid)
    }

    /// The file's content.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.json())
    }

    /// The dashboard as Grafana reads it.
    pub fn json(&self) -> Value {
        let variables: Vec<Value> = std::iter::once(variable::datasource())
            .chain(self.variables.iter().map(Variable::json))
            .collect();
        let annotations: Vec<Value> = self.annotations.iter().map(Annotation::json).collect();
        json!({
            "uid": format!("wakelag-{}", self.uid),
            "title": self.title,
            "description": self.description,
            "tags": ["wakelag"],
            "schemaVersion": 39,
            "editable": false,
            "graphTooltip": 1,
            "timezone": "browser",
            "time": {"from": "now-6h", "to": "now"},
            "refresh": "",
            "links": [],
            "annotations": {"list": annotations},
            "templating": {"list": variables},
            "panels": self.panels(),
        })
    }

    fn panels(&self) -> Vec<Value> {
        let mut grid = Grid::default();
        let mut panels = Vec::new();
        for row in &self.rows {
            let (id, place) = grid.place(COLUMNS, 1);
            panels.push(json!({
                "id": id, "type": "row", "title": row.title, "collapsed": false, "panels": [], "gridPos": place,
            }));
            for panel in &row.panels {
                let (id, place) = grid.place(panel.width, panel.height);
                panels.push(panel.json(id, place));
            }
            grid.end_line();
        }
        panels
    }
}

/// Where the next panel goes.
#[derive(Debug, Default)]
struct Grid {
    id: u64,
    x: u64,
    y: u64,
    line_height: u64,
}

impl Grid {
    /// The next panel's number and place.
    fn place(&mut self, width: u64, height: u64) -> (u64, Value) {
        if self.x + width > COLUMNS {
            self.end_line();
        }
        let place = json!({"x": self.x, "y": self.y, "w": width, "h": height});
        self.id += 1;
        self.x += width;
        self.line_height = self.line_height.max(height);
        (self.id, place)
    }

    fn end_line(&mut self) {
        self.y += self.line_height;
        self.x = 0;
        self.line_height = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_that_does_not_fit_goes_onto_the_next_line_below_the_highest() {
        let mut grid = Grid::default();
        grid.place(8, 4);
        grid.place(8, 6);
        let (id, place) = grid.place(12, 3);
        assert_eq!(id, 3);
        assert_eq!(place, json!({"x": 0, "y": 6, "w": 12, "h": 3}));
    }
}

//! One panel: what it asks, in which unit, in which form, and what it tells its reader.

mod json;

/// Unit of a panel's values, by Grafana's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds; Grafana shows us and ms by itself.
    Seconds,
    /// Hertz.
    Hertz,
    /// Watts.
    Watts,
    /// A share of 1.
    Share,
    /// Events a second.
    PerSecond,
    /// A number.
    Count,
    /// Neither a number nor a time: names and states.
    None,
}

impl Unit {
    /// Grafana's name of the unit.
    pub const fn id(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Hertz => "hertz",
            Unit::Watts => "watt",
            Unit::Share => "percentunit",
            Unit::PerSecond => "ops",
            Unit::Count => "short",
            Unit::None => "none",
        }
    }
}

/// What a panel tells its reader; all of it is compulsory.
#[derive(Debug, Clone, Copy)]
pub struct Guide {
    /// What is drawn.
    pub shows: &'static str,
    /// How to read it.
    pub read: &'static str,
    /// What a bad picture looks like.
    pub bad: &'static str,
    /// What to do then.
    pub act: &'static str,
    /// Why it may be empty; shown in place of the values.
    pub empty: &'static str,
}

impl Guide {
    fn description(&self) -> String {
        let Guide {
            shows,
            read,
            bad,
            act,
            ..
        } = self;
        format!(
            "{shows}\n\n**How to read it:** {read}\n\n**Bad looks like:** {bad}\n\n**What to do:** {act}"
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Series { stacked: bool },
    Stat { names: bool },
    Table { key: &'static str },
    Timeline,
}

#[derive(Debug)]
struct Query {
    expr: String,
    legend: &'static str,
    unit: Unit,
}

/// One panel.
#[derive(Debug)]
pub struct Panel {
    kind: Kind,
    title: &'static str,
    guide: Guide,
    unit: Unit,
    queries: Vec<Query>,
    pub(super) width: u64,
    pub(super) height: u64,
}

impl Panel {
    fn new(kind: Kind, title: &'static str, unit: Unit, (width, height): (u64, u64)) -> Self {
        const NO_GUIDE: Guide = Guide {
            shows: "",
            read: "",
            bad: "",
            act: "",
            empty: "",
        };
        Panel {
            kind,
            title,
            guide: NO_GUIDE,
            unit,
            queries: Vec::new(),
            width,
            height,
        }
    }

    /// Lines over time, half as wide as the dashboard.
    pub fn series(title: &'static str, unit: Unit) -> Self {
        Self::new(Kind::Series { stacked: false }, title, unit, (12, 9))
    }

    /// Shares over time that add up to one whole.
    pub fn shares(title: &'static str) -> Self {
        Self::new(Kind::Series { stacked: true }, title, Unit::Share, (12, 9))
    }

    /// The value now, or over the chosen range where the query says so.
    pub fn stat(title: &'static str, unit: Unit) -> Self {
        Self::new(Kind::Stat { names: false }, title, unit, (4, 5))
    }

    /// The names of the series that are there now.
    pub fn names(title: &'static str) -> Self {
        Self::new(Kind::Stat { names: true }, title, Unit::None, (8, 5))
    }

    /// One line a value of the label `key`, one column a query; the queries are joined on that label.
    pub fn table(title: &'static str, key: &'static str) -> Self {
        Self::new(Kind::Table { key }, title, Unit::None, (24, 8))
    }

    /// One lane a series, coloured while its value is 1.
    pub fn timeline(title: &'static str) -> Self {
        Self::new(Kind::Timeline, title, Unit::None, (12, 9))
    }

    /// What the panel tells its reader.
    pub fn guide(mut self, guide: Guide) -> Self {
        self.guide = guide;
        self
    }

    /// Adds a query; `legend` names its series, with `{{label}}`.
    pub fn query(mut self, expr: String, legend: &'static str) -> Self {
        let unit = self.unit;
        self.queries.push(Query { expr, legend, unit });
        self
    }

    /// Adds a query that is a column of a table.
    pub fn column(mut self, title: &'static str, unit: Unit, expr: String) -> Self {
        let legend = title;
        self.queries.push(Query { expr, legend, unit });
        self
    }
}

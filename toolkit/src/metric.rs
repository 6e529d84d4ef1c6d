//! The only spelling of a metric: its name, help, type and labels, written once as a `static`.
//!
//! A collector holds `static ENTRIES: Metric<2> = Metric::counter("wakelag_...", "Help sentence.", &["cpu", "state"])`
//! and emits with `out.put(&ENTRIES, [cpu, state], value)`: a wrong number of label values does not compile. The
//! generated reference, the dashboards' checks and the rules' checks all read the same statics through [`Desc`].

mod family;

use prometheus::proto;

pub use self::family::{Family, Sample};

/// What a metric's value means over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only goes up, but for a restart.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution in buckets.
    Histogram,
}

impl Kind {
    /// The word of the exposition format's `# TYPE` line.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A metric's description, without its values.
#[derive(Debug, PartialEq, Eq)]
pub struct Desc {
    /// Full name, with the unit and `_total` where they belong.
    pub name: &'static str,
    /// One sentence, ending in a period.
    pub help: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Label names, in the order values are given.
    pub labels: &'static [&'static str],
}

/// A metric with `L` labels.
#[derive(Debug)]
pub struct Metric<const L: usize>(Desc);

impl<const L: usize> Metric<L> {
    /// A counter; its name ends in `_total`.
    pub const fn counter(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; L],
    ) -> Self {
        Self::new(name, help, Kind::Counter, labels)
    }

    /// A gauge.
    pub const fn gauge(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; L],
    ) -> Self {
        Self::new(name, help, Kind::Gauge, labels)
    }

    /// A histogram.
    pub const fn histogram(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; L],
    ) -> Self {
        Self::new(name, help, Kind::Histogram, labels)
    }

    const fn new(
        name: &'static str,
        help: &'static str,
        kind: Kind,
        labels: &'static [&'static str; L],
    ) -> Self {
        Metric(Desc {
            name,
            help,
            kind,
            labels,
        })
    }

    /// The description, for lists and references.
    pub const fn desc(&self) -> &Desc {
        &self.0
    }
}

/// Where one collection's samples go.
///
/// A sample that is not a finite number is not published: whoever emits has to leave out what it does not know.
#[derive(Debug, Default)]
pub struct Sink {
    /// The metric of each family.
    descs: Vec<&'static Desc>,
    families: Vec<Family>,
    /// The family used last.
    last: usize,
}

impl Sink {
    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one sample of a counter or gauge.
    pub fn put<const L: usize>(
        &mut self,
        metric: &'static Metric<L>,
        labels: [&str; L],
        value: f64,
    ) {
        debug_assert!(value.is_finite(), "{} = {value}", metric.0.name);
        debug_assert_ne!(metric.0.kind, Kind::Histogram, "{}", metric.0.name);
        if value.is_finite() && metric.0.kind != Kind::Histogram {
            self.family(&metric.0).push(&labels, value);
        }
    }

    /// Adds one histogram.
    pub fn put_histogram<const L: usize>(
        &mut self,
        metric: &'static Metric<L>,
        labels: [&str; L],
        histogram: proto::Histogram,
    ) {
        debug_assert_eq!(metric.0.kind, Kind::Histogram, "{}", metric.0.name);
        if metric.0.kind == Kind::Histogram {
            self.family(&metric.0).push_histogram(&labels, histogram);
        }
    }

    /// Adds one 0/1 sample for each of `values`, 1 where it is `current`: every known value is always present, so that
    /// a query can follow a change without losing a series. `row` makes the label values of one of them.
    pub fn put_state<const L: usize>(
        &mut self,
        metric: &'static Metric<L>,
        values: &[&str],
        current: &str,
        row: impl for<'v> Fn(&'v str) -> [&'v str; L],
    ) {
        for value in values {
            self.put(metric, row(value), f64::from(u8::from(*value == current)));
        }
    }

    /// The families collected so far, in the order of their first sample.
    pub fn into_families(self) -> Vec<Family> {
        self.families
    }

    fn family(&mut self, desc: &'static Desc) -> &mut Family {
        // A collector fills one family, or several in turn: the one used last, or the one after it.
        let (before, after) = self.descs.split_at(self.last);
        let mut round = after.iter().chain(before);
        self.last = match round.position(|known| std::ptr::eq(*known, desc)) {
            Some(steps) => (self.last + steps) % self.descs.len(),
            None => {
                self.descs.push(desc);
                self.families.push(Family::of(desc));
                self.families.len() - 1
            }
        };
        &mut self.families[self.last]
    }
}

/// Joins families of several sources into one list, sorted by name, with families of the same metric made one.
pub fn merge(sources: impl IntoIterator<Item = Vec<Family>>) -> Vec<Family> {
    let mut families: Vec<Family> = sources.into_iter().flatten().collect();
    // Stable, so samples stay in the order of their sources.
    families.sort_by(|a, b| a.name().cmp(b.name()));
    families.dedup_by(|later, earlier| earlier.absorb(later));
    families
}

/// The first family called `name`.
pub fn family<'f>(families: &'f [Family], name: &str) -> Option<&'f Family> {
    families.iter().find(|family| family.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    static ENTRIES: Metric<2> =
        Metric::counter("test_entries_total", "Entries.", &["cpu", "state"]);
    static MODE: Metric<1> = Metric::gauge("test_mode", "Mode.", &["mode"]);

    #[test]
    fn samples_of_one_metric_share_a_family() {
        let mut sink = Sink::new();
        sink.put(&ENTRIES, ["0", "1"], 7.0);
        sink.put_state(&MODE, &["on", "off"], "off", |mode| [mode]);
        sink.put(&ENTRIES, ["1", "1"], 9.0);
        let families = sink.into_families();
        assert_eq!(families.len(), 2);
        let entries = family(&families, "test_entries_total").unwrap();
        let cpus: Vec<_> = entries.samples().map(|s| s.label("cpu")).collect();
        assert_eq!(cpus, [Some("0"), Some("1")]);
        assert_eq!(entries.samples().next().unwrap().label("mode"), None);
        let mode = family(&families, "test_mode").unwrap();
        let values: Vec<_> = mode.samples().map(Sample::value).collect();
        assert_eq!(values, [Some(0.0), Some(1.0)]);
    }

    #[test]
    #[cfg(not(debug_assertions))]
    fn a_number_that_is_not_finite_is_never_published() {
        let mut sink = Sink::new();
        sink.put(&ENTRIES, ["0", "1"], f64::NAN);
        assert!(sink.into_families().is_empty());
    }

    /// Metrics that take turns in any order find their own family again.
    #[test]
    fn samples_in_turn_go_to_their_own_family() {
        static OTHER: Metric<0> = Metric::gauge("test_other", "Other.", &[]);
        let mut sink = Sink::new();
        for turn in 0..6 {
            let cpu = turn.to_string();
            if turn % 3 != 1 {
                sink.put(&OTHER, [], f64::from(turn));
            }
            sink.put(&ENTRIES, [&cpu, ""], 1.0);
            sink.put_state(&MODE, &["on", "off"], "on", |mode| [mode]);
        }
        let families = sink.into_families();
        let counts: Vec<_> = families
            .iter()
            .map(|f| (f.name(), f.samples().len()))
            .collect();
        assert_eq!(
            counts,
            [
                ("test_other", 4),
                ("test_entries_total", 6),
                ("test_mode", 12)
            ]
        );
    }

    #[test]
    fn merging_keeps_one_family_a_name() {
        let one = |cpu| {
            let mut sink = Sink::new();
            sink.put_state(&MODE, &["on"], "on", |mode| [mode]);
            sink.put(&ENTRIES, [cpu, "é"], 1.0);
            sink.into_families()
        };
        let merged = merge([one("0"), one("10"), one("2")]);
        assert_eq!(merged.len(), 2);
        let labels: Vec<Vec<_>> = merged[0].samples().map(|s| s.labels().collect()).collect();
        let expected = ["0", "10", "2"].map(|cpu| vec![("cpu", cpu), ("state", "é")]);
        assert_eq!(labels, expected);
        assert_eq!(merged[1].name(), "test_mode");
    }
}

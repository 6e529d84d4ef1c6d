//! The only spelling of a metric: its name, help, type and labels, written once as a `static`.
//!
//! A collector holds `static ENTRIES: Metric<2> = Metric::counter("wakelag_...", "Help sentence.", &["cpu", "state"])`
//! and emits with `out.put(&ENTRIES, [cpu, state], value)`: a wrong number of label values does not compile. The
//! generated reference, the dashboards' checks and the rules' checks all read the same statics through [`Desc`].

use std::collections::BTreeMap;

use prometheus::proto::{self, LabelPair, MetricFamily, MetricType};

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
    families: Vec<(&'static str, MetricFamily)>,
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
        if !value.is_finite() {
            return;
        }
        let mut sample = labelled(&metric.0, labels);
        match metric.0.kind {
            Kind::Counter => {
                let mut counter = proto::Counter::new();
                counter.set_value(value);
                sample.set_counter(counter);
            }
            Kind::Gauge => {
                let mut gauge = proto::Gauge::new();
                gauge.set_value(value);
                sample.set_gauge(gauge);
            }
            Kind::Histogram => debug_assert!(false, "{} is a histogram", metric.0.name),
        }
        self.family(&metric.0).mut_metric().push(sample);
    }

    /// Adds one histogram.
    pub fn put_histogram<const L: usize>(
        &mut self,
        metric: &'static Metric<L>,
        labels: [&str; L],
        histogram: proto::Histogram,
    ) {
        debug_assert_eq!(metric.0.kind, Kind::Histogram, "{}", metric.0.name);
        let mut sample = labelled(&metric.0, labels);
        sample.set_histogram(histogram);
        self.family(&metric.0).mut_metric().push(sample);
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
    pub fn into_families(self) -> Vec<MetricFamily> {
        self.families
            .into_iter()
            .map(|(_, family)| family)
            .collect()
    }

    fn family(&mut self, desc: &'static Desc) -> &mut MetricFamily {
        // Few families a sink, and mostly the one used last: a scan from the end beats hashing.
        let found = self
            .families
            .iter()
            .rposition(|(name, _)| std::ptr::eq(*name, desc.name));
        let at = found.unwrap_or_else(|| {
            let mut family = MetricFamily::new();
            family.set_name(desc.name.to_owned());
            family.set_help(desc.help.to_owned());
            family.set_field_type(match desc.kind {
                Kind::Counter => MetricType::COUNTER,
                Kind::Gauge => MetricType::GAUGE,
                Kind::Histogram => MetricType::HISTOGRAM,
            });
            self.families.push((desc.name, family));
            self.families.len() - 1
        });
        &mut self.families[at].1
    }
}

fn labelled<const L: usize>(desc: &Desc, values: [&str; L]) -> proto::Metric {
    let mut sample = proto::Metric::new();
    let pairs = desc.labels.iter().zip(values).map(|(name, value)| {
        let mut pair = LabelPair::new();
        pair.set_name((*name).to_owned());
        pair.set_value(value.to_owned());
        pair
    });
    sample.set_label(pairs.collect());
    sample
}

/// Joins families of several sources into one list, sorted by name, with families of the same name made one.
pub fn merge(sources: impl IntoIterator<Item = Vec<MetricFamily>>) -> Vec<MetricFamily> {
    let mut by_name = BTreeMap::<String, MetricFamily>::new();
    for mut family in sources.into_iter().flatten() {
        match by_name.get_mut(family.name()) {
            Some(known) => known.mut_metric().append(&mut family.take_metric()),
            None => {
                by_name.insert(family.name().to_owned(), family);
            }
        }
    }
    by_name.into_values().collect()
}

/// The value of the label `name` of a sample.
pub fn label<'m>(sample: &'m proto::Metric, name: &str) -> Option<&'m str> {
    sample
        .get_label()
        .iter()
        .find(|pair| pair.name() == name)
        .map(LabelPair::value)
}

/// The first family called `name`.
pub fn family<'f>(families: &'f [MetricFamily], name: &str) -> Option<&'f MetricFamily> {
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
        assert_eq!(entries.get_metric().len(), 2);
        assert_eq!(label(&entries.get_metric()[1], "cpu"), Some("1"));
        let mode = family(&families, "test_mode").unwrap();
        let values: Vec<f64> = mode
            .get_metric()
            .iter()
            .map(|m| m.get_gauge().value())
            .collect();
        assert_eq!(values, [0.0, 1.0]);
    }

    #[test]
    #[cfg(not(debug_assertions))]
    fn a_number_that_is_not_finite_is_never_published() {
        let mut sink = Sink::new();
        sink.put(&ENTRIES, ["0", "1"], f64::NAN);
        assert!(sink.into_families().is_empty());
    }

    #[test]
    fn merging_keeps_one_family_a_name() {
        let one = |cpu| {
            let mut sink = Sink::new();
            sink.put(&ENTRIES, [cpu, "1"], 1.0);
            sink.into_families()
        };
        let merged = merge([one("0"), one("1")]);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].get_metric().len(), 2);
    }
}

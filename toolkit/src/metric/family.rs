//! The samples of one metric, packed: a large host has 60 000 of them in a scrape.
//!
//! Label names are those of the metric. Label values stand end to end in one string, and a sample has as many of them
//! as the metric has labels; so a sample without text of its own costs 8 bytes and 4 more a label.

use std::borrow::Cow;

use prometheus::proto::{self, LabelPair, MetricFamily, MetricType};

use super::{Desc, Kind, Roll};

/// A metric with its samples, in the order they were put.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    name: Cow<'static, str>,
    help: Cow<'static, str>,
    kind: Kind,
    labels: Cow<'static, [&'static str]>,
    roll: Option<Roll>,
    /// The label values of all samples, end to end.
    texts: String,
    /// Where in `texts` each label value ends.
    ends: Vec<u32>,
    values: Values,
}

#[derive(Debug, Clone, PartialEq)]
enum Values {
    Numbers(Vec<f64>),
    Histograms(Vec<proto::Histogram>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.len(),
            Values::Histograms(histograms) => histograms.len(),
        }
    }
}

impl Family {
    /// The metric `desc` without samples.
    pub(super) fn of(desc: &'static Desc) -> Self {
        Family {
            name: Cow::Borrowed(desc.name),
            help: Cow::Borrowed(desc.help),
            kind: desc.kind,
            labels: Cow::Borrowed(desc.labels),
            roll: desc.roll,
            texts: String::new(),
            ends: Vec::new(),
            values: match desc.kind {
                Kind::Counter | Kind::Gauge => Values::Numbers(Vec::new()),
                Kind::Histogram => Values::Histograms(Vec::new()),
            },
        }
    }

    /// What the client library gathered, if it is a counter or gauge with one sample without labels: a metric that has
    /// no static here.
    pub fn bare(foreign: &MetricFamily) -> Option<Self> {
        let [sample] = foreign.get_metric() else {
            return None;
        };
        let (kind, value) = match foreign.get_field_type() {
            MetricType::COUNTER => (Kind::Counter, sample.get_counter().value()),
            MetricType::GAUGE => (Kind::Gauge, sample.get_gauge().value()),
            _ => return None,
        };
        sample.get_label().is_empty().then(|| Family {
            name: Cow::Owned(foreign.name().to_owned()),
            help: Cow::Owned(foreign.help().to_owned()),
            kind,
            labels: Cow::Borrowed(&[]),
            roll: None,
            texts: String::new(),
            ends: Vec::new(),
            values: Values::Numbers(vec![value]),
        })
    }

    /// Full name of the metric.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the metric says, in one sentence.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// Counter, gauge or histogram.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Names of the labels, in the order of their values.
    pub(crate) fn labels(&self) -> &[&'static str] {
        &self.labels
    }

    /// What becomes of samples that fall together where a label is given up.
    pub(super) fn roll(&self) -> Option<Roll> {
        self.roll
    }

    /// The same metric with other labels and help, without samples.
    pub(super) fn relabelled(&self, labels: Vec<&'static str>, help: String) -> Self {
        Family {
            name: self.name.clone(),
            help: Cow::Owned(help),
            kind: self.kind,
            labels: Cow::Owned(labels),
            roll: self.roll,
            texts: String::new(),
            ends: Vec::new(),
            values: Values::Numbers(Vec::new()),
        }
    }

    /// The samples, in the order they were put.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = Sample<'_>> + DoubleEndedIterator {
        (0..self.values.len()).map(|index| Sample {
            family: self,
            index,
        })
    }

    /// Adds a sample to a counter or gauge.
    pub(super) fn push(&mut self, labels: &[&str], value: f64) {
        if let Values::Numbers(numbers) = &mut self.values
            && write(&mut self.texts, &mut self.ends, labels)
        {
            numbers.push(value);
        }
    }

    /// Adds a sample to a histogram.
    pub(super) fn push_histogram(&mut self, labels: &[&str], histogram: proto::Histogram) {
        if let Values::Histograms(histograms) = &mut self.values
            && write(&mut self.texts, &mut self.ends, labels)
        {
            histograms.push(histogram);
        }
    }

    /// Takes over the samples of `other`, if it is of the same metric; says whether it is.
    pub(super) fn absorb(&mut self, other: &mut Family) -> bool {
        if (&self.name, self.kind, &self.labels) != (&other.name, other.kind, &other.labels) {
            return false;
        }
        let texts = self.texts.len() + other.texts.len();
        if u32::try_from(texts).is_err() {
            return false;
        }
        match (&mut self.values, &mut other.values) {
            (Values::Numbers(mine), Values::Numbers(theirs)) => mine.append(theirs),
            (Values::Histograms(mine), Values::Histograms(theirs)) => mine.append(theirs),
            _ => return false,
        }
        let start = self.texts.len() as u32;
        self.texts.push_str(&other.texts);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        true
    }

    /// Whether no label value has one of `bytes`, looked at all at once.
    pub(crate) fn is_without(&self, bytes: &[u8]) -> bool {
        let has = |byte: &u8| {
            self.texts
                .bytes()
                .fold(false, |has, other| has | (other == *byte))
        };
        !bytes.iter().any(has)
    }

    /// About how long the family is as text, in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        // `=""` and a comma a label, a space, a number of some 12 digits and the end of the line.
        let names: usize = self.labels.iter().map(|label| label.len() + 4).sum();
        let each = self.name.len() + names + 16;
        let lines = match &self.values {
            Values::Numbers(numbers) => numbers.len(),
            Values::Histograms(histograms) => histograms
                .iter()
                .map(|one| one.get_bucket().len() + 3)
                .sum(),
        };
        2 * self.name.len() + self.help.len() + lines * each + self.texts.len()
    }

    /// The family as the client library's message, which costs a few allocations a sample.
    pub fn to_proto(&self) -> MetricFamily {
        let mut family = MetricFamily::new();
        family.set_name(self.name.clone().into_owned());
        family.set_help(self.help.clone().into_owned());
        family.set_field_type(match self.kind {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge => MetricType::GAUGE,
            Kind::Histogram => MetricType::HISTOGRAM,
        });
        family.set_metric(self.samples().map(|sample| sample.to_proto()).collect());
        family
    }
}

/// Appends the values of one sample's labels; `false`, and nothing written, where a family is full at 4 GiB of text.
fn write(texts: &mut String, ends: &mut Vec<u32>, labels: &[&str]) -> bool {
    let bytes: usize = labels.iter().map(|label| label.len()).sum();
    if u32::try_from(texts.len() + bytes).is_err() {
        return false;
    }
    for label in labels {
        texts.push_str(label);
        ends.push(texts.len() as u32);
    }
    true
}

/// One sample of a family.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'f> {
    family: &'f Family,
    index: usize,
}

impl<'f> Sample<'f> {
    /// Name and value of each label.
    pub fn labels(self) -> impl Iterator<Item = (&'static str, &'f str)> {
        let Family {
            labels,
            texts,
            ends,
            ..
        } = self.family;
        let first = self.index * labels.len();
        let mut start = match first.checked_sub(1) {
            Some(before) => ends[before] as usize,
            None => 0,
        };
        let ends = &ends[first..first + labels.len()];
        labels.iter().zip(ends).map(move |(name, end)| {
            let value = &texts[start..*end as usize];
            start = *end as usize;
            (*name, value)
        })
    }

    /// The value of the label `name`.
    pub fn label(self, name: &str) -> Option<&'f str> {
        let mut labels = self.labels();
        labels.find_map(|(label, value)| (label == name).then_some(value))
    }

    /// The value of a counter or gauge; `None` of a histogram.
    pub fn value(self) -> Option<f64> {
        match &self.family.values {
            Values::Numbers(numbers) => Some(numbers[self.index]),
            Values::Histograms(_) => None,
        }
    }

    /// The distribution; `None` of a counter or gauge.
    pub fn histogram(self) -> Option<&'f proto::Histogram> {
        match &self.family.values {
            Values::Numbers(_) => None,
            Values::Histograms(histograms) => Some(&histograms[self.index]),
        }
    }

    fn to_proto(self) -> proto::Metric {
        let mut sample = proto::Metric::new();
        let pairs = self.labels().map(|(name, value)| {
            let mut pair = LabelPair::new();
            pair.set_name(name.to_owned());
            pair.set_value(value.to_owned());
            pair
        });
        sample.set_label(pairs.collect());
        match (&self.family.values, self.family.kind) {
            (Values::Histograms(all), _) => sample.set_histogram(all[self.index].clone()),
            (Values::Numbers(all), Kind::Counter) => {
                let mut counter = proto::Counter::new();
                counter.set_value(all[self.index]);
                sample.set_counter(counter);
            }
            (Values::Numbers(all), _) => {
                let mut gauge = proto::Gauge::new();
                gauge.set_value(all[self.index]);
                sample.set_gauge(gauge);
            }
        }
        sample
    }
}

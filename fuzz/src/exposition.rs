//! What is published, read back: from the text format, and from protobuf with its native histograms.

use std::collections::{BTreeMap, BTreeSet};

use toolkit::exposition::Format;
use toolkit::histogram::Latency;
use toolkit::metric::{Metric, Sink, merge};

use super::exposed;
use super::protobuf::{self, Histogram};

static COUNTER: Metric<2> = Metric::counter("fuzz_things_total", "A \\ and\na line.", &["a", "b"]);
static GAUGE: Metric<1> = Metric::gauge("fuzz_level", "Says \"how\".", &["a"]);
static LATENCY: Metric<1> = Metric::histogram("fuzz_seconds", "Latency.", &["a"]);

/// A value as it was put, under its labels.
type Values = BTreeMap<Vec<String>, f64>;

/// What was put into a sink.
#[derive(Default)]
struct Put {
    counter: Values,
    gauge: Values,
    latency: BTreeMap<String, Vec<f64>>,
}

/// A record: its kind, the lengths of two labels, eight bytes of a number, the labels.
pub(crate) fn run(bytes: &[u8]) {
    let put = records(bytes);
    let (mut one, mut other) = (Sink::new(), Sink::new());
    for (at, (labels, value)) in put.counter.iter().enumerate() {
        // Two sources of one family, which are made one.
        let sink = if at % 2 == 0 { &mut one } else { &mut other };
        sink.put(&COUNTER, [&labels[0], &labels[1]], *value);
    }
    for (labels, value) in &put.gauge {
        one.put(&GAUGE, [&labels[0]], *value);
    }
    for (label, seconds) in &put.latency {
        let latency = Latency::new();
        seconds.iter().for_each(|seconds| latency.observe(*seconds));
        other.put_histogram(&LATENCY, [label], latency.to_proto());
    }
    let families = merge([one.into_families(), other.into_families()]);
    let text = String::from_utf8(Format::Text.encode(&families).unwrap()).unwrap();
    in_text(&put, &text);
    in_protobuf(&put, &Format::Protobuf.encode(&families).unwrap());
}

fn records(mut bytes: &[u8]) -> Put {
    let mut put = Put::default();
    while let Some((head, rest)) = bytes.split_first_chunk::<11>() {
        let [kind, first, second, number @ ..] = *head;
        let (a, rest) = rest.split_at(rest.len().min(usize::from(first % 16)));
        let (b, rest) = rest.split_at(rest.len().min(usize::from(second % 16)));
        bytes = rest;
        let [a, b] = [a, b].map(|label| String::from_utf8_lossy(label).into_owned());
        let number = f64::from_le_bytes(number);
        // Nothing else is put anywhere: a sink says so in a debug build.
        if !number.is_finite() {
            continue;
        }
        match kind % 3 {
            0 => drop(put.counter.insert(vec![a, b], number.abs())),
            1 => drop(put.gauge.insert(vec![a], number)),
            // A latency comes of a duration, in whole nanoseconds.
            _ => {
                let seconds = (number.abs() % 1e6 * 1e9).round() / 1e9;
                put.latency.entry(a).or_default().push(seconds);
            }
        }
    }
    put
}

fn in_text(put: &Put, text: &str) {
    let families = exposed::read(text);
    for (values, desc) in [(&put.counter, COUNTER.desc()), (&put.gauge, GAUGE.desc())] {
        let Some(family) = families.get(desc.name) else {
            assert!(values.is_empty(), "{} is lost", desc.name);
            continue;
        };
        assert_eq!(
            (&*family.help, &*family.kind),
            (desc.help, desc.kind.word())
        );
        assert_eq!(family.samples.len(), values.len());
        for sample in &family.samples {
            let labels: Vec<String> = sample.labels.iter().map(|(_, v)| v.clone()).collect();
            assert!(
                sample
                    .labels
                    .iter()
                    .map(|(n, _)| &**n)
                    .eq(desc.labels.iter().copied())
            );
            assert_eq!(
                values[&labels].to_bits(),
                sample.value.to_bits(),
                "{sample:?}"
            );
        }
    }
    let samples = families
        .get(LATENCY.desc().name)
        .map(|family| &family.samples);
    for (label, seconds) in &put.latency {
        let of = |end: &str| {
            let name = format!("{}{end}", LATENCY.desc().name);
            let samples = samples.unwrap_or_else(|| panic!("{name} is lost")).iter();
            let ours = samples.filter(move |s| s.name == name && s.labels[0].1 == *label);
            ours.collect::<Vec<_>>()
        };
        let buckets = of("_bucket");
        let counts = buckets.iter().map(|sample| sample.value);
        assert!(counts.is_sorted(), "{buckets:?}");
        let bounds = buckets
            .iter()
            .map(|sample| sample.labels[1].1.parse::<f64>().unwrap());
        assert!(bounds.clone().is_sorted_by(|a, b| a < b));
        for (bound, sample) in bounds.zip(&buckets) {
            let upto = seconds.iter().filter(|seconds| **seconds <= bound).count();
            assert_eq!(sample.value, upto as f64, "up to {bound}");
        }
        assert_eq!(buckets.last().unwrap().labels[1].1, "+Inf");
        assert_eq!(of("_count")[0].value, seconds.len() as f64);
        let sum: f64 = seconds.iter().sum();
        assert!((of("_sum")[0].value - sum).abs() <= sum * 1e-9);
    }
}

fn in_protobuf(put: &Put, bytes: &[u8]) {
    let families = protobuf::read(bytes);
    let names: BTreeSet<&String> = families.iter().map(|family| &family.name).collect();
    assert_eq!(names.len(), families.len(), "a family comes twice");
    let find = |name: &str| families.iter().find(|family| family.name == name);
    for (values, desc) in [(&put.counter, COUNTER.desc()), (&put.gauge, GAUGE.desc())] {
        let Some(family) = find(desc.name) else {
            assert!(values.is_empty(), "{} is lost", desc.name);
            continue;
        };
        assert_eq!(family.samples.len(), values.len());
        for sample in &family.samples {
            assert_eq!(
                sample.value.map(f64::to_bits),
                Some(values[&sample.labels].to_bits())
            );
        }
    }
    let Some(family) = find(LATENCY.desc().name) else {
        assert!(put.latency.is_empty());
        return;
    };
    for sample in &family.samples {
        native(
            sample.histogram.as_ref().unwrap(),
            &put.latency[&sample.labels[0]],
        );
    }
}

/// Every observation is in one native bucket, and in one that is wide enough.
fn native(histogram: &Histogram, seconds: &[f64]) {
    assert_eq!(histogram.count, seconds.len() as u64);
    let buckets = histogram.native();
    let in_buckets: u64 = buckets.iter().map(|(_, count)| count).sum();
    assert_eq!(histogram.zero_count + in_buckets, histogram.count);
    let above = seconds.iter().filter(|s| **s > histogram.zero_threshold);
    assert_eq!(above.count() as u64, in_buckets);
    assert!(buckets.is_sorted_by(|(a, _), (b, _)| a < b));
    let last = buckets.last().map(|(index, _)| *index);
    for (index, count) in buckets {
        assert!(count > 0);
        let upper = (f64::from(index) / 2_f64.powi(histogram.schema)).exp2();
        let upto = seconds
            .iter()
            .filter(|s| **s <= upper * (1.0 + 1e-9))
            .count() as u64;
        // The last bucket takes all that is above it too.
        assert!(upto >= 1 || Some(index) == last, "nothing is up to {upper}");
    }
}

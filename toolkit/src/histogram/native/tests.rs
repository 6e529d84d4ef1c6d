use super::*;
use crate::histogram::{Latency, bounds};

/// What a reader of `metrics.proto` finds in the fields of a native histogram.
#[derive(Debug, Default, PartialEq)]
struct Decoded {
    schema: i64,
    zero_threshold: f64,
    zero_count: u64,
    /// Upper bound in seconds and count of each bucket.
    buckets: Vec<(f64, i64)>,
}

/// Reads the bytes by the wire format's own rules, so that a mistake of the writer is not undone here.
fn decode(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let (mut spans, mut deltas) = (Vec::new(), Vec::new());
    for (number, field) in fields(bytes) {
        match (number, field) {
            (5, Field::Varint(value)) => decoded.schema = zigzag(value),
            (6, Field::Fixed64(bits)) => decoded.zero_threshold = f64::from_bits(bits),
            (7, Field::Varint(value)) => decoded.zero_count = value,
            (12, Field::Bytes(bytes)) => spans.push(span(&bytes)),
            (13, Field::Varint(value)) => deltas.push(zigzag(value)),
            (1..=3, _) => {}
            other => panic!("{other:?}"),
        }
    }
    let (mut index, mut count, mut deltas) = (0, 0, deltas.into_iter());
    for (offset, length) in spans {
        index += offset;
        for _ in 0..length {
            count += deltas.next().unwrap();
            let upper = 2f64.powf(index as f64 / 32.0);
            decoded.buckets.push((upper, count));
            index += 1;
        }
    }
    assert_eq!(deltas.next(), None);
    decoded
}

/// Offset and length of a span.
fn span(bytes: &[u8]) -> (i64, u64) {
    let (mut offset, mut length) = (0, 0);
    for (number, field) in fields(bytes) {
        match (number, field) {
            (1, Field::Varint(value)) => offset = zigzag(value),
            (2, Field::Varint(value)) => length = value,
            other => panic!("{other:?}"),
        }
    }
    (offset, length)
}

#[derive(Debug)]
enum Field {
    Varint(u64),
    Fixed64(u64),
    Bytes(Vec<u8>),
}

fn fields(bytes: &[u8]) -> Vec<(u64, Field)> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let key = varint(&mut rest);
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut rest)),
            1 => Field::Fixed64(u64::from_le_bytes(take(&mut rest, 8).try_into().unwrap())),
            2 => {
                let length = varint(&mut rest);
                Field::Bytes(take(&mut rest, usize::try_from(length).unwrap()).to_vec())
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a varint of more than ten bytes");
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> &'b [u8] {
    let (taken, left) = rest.split_at(length);
    *rest = left;
    taken
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn written(latency: &Latency) -> Decoded {
    decode(&latency.to_proto().write_to_bytes().unwrap())
}

#[test]
fn the_bytes_say_what_was_observed() {
    let latency = Latency::new();
    for seconds in [0.0, 50e-9, 35e-6, 35e-6, 35e-6, 36e-6, 0.25, 1.0, 1.01] {
        latency.observe(seconds);
    }
    let decoded = written(&latency);
    assert_eq!((decoded.schema, decoded.zero_count), (5, 2));
    assert_eq!(decoded.zero_threshold, 2f64.powi(-24));
    let counts: Vec<i64> = decoded.buckets.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [3, 1, 1, 1, 1]);
    let width = 2f64.powf(1.0 / 32.0);
    for ((upper, _), seconds) in decoded.buckets.iter().zip([35e-6, 36e-6, 0.25, 1.0, 1.01]) {
        assert!(seconds <= *upper, "{seconds} is above {upper}");
        assert!(
            seconds > upper / width,
            "{seconds} is below the bucket up to {upper}"
        );
    }
}

#[test]
fn an_empty_distribution_is_known_as_native_by_its_threshold() {
    let decoded = written(&Latency::new());
    assert_eq!(decoded.buckets, []);
    assert!(decoded.zero_threshold > 0.0);
}

/// Prometheus refuses a histogram whose buckets do not add up to its count.
#[test]
fn the_buckets_add_up_to_the_count_whatever_is_observed() {
    let latency = Latency::new();
    let odd = [f64::INFINITY, f64::NAN, -1.0, 1e9, 1e-300];
    let usual = (0..100_000).map(|i| 1e-8 * 1.0003f64.powi(i));
    let mut observed = 0;
    for seconds in usual.chain(odd) {
        latency.observe(seconds);
        observed += 1;
    }
    let decoded = written(&latency);
    let in_buckets: i64 = decoded.buckets.iter().map(|(_, count)| count).sum();
    assert_eq!(in_buckets.cast_unsigned() + decoded.zero_count, observed);
    assert_eq!(latency.count(), observed);
    assert_eq!(decoded.buckets.len(), 1088, "the range is not bounded");
    assert_eq!(decoded.buckets.last().unwrap().0, 1024.0);
}

/// The text format has no native buckets: what it shows must not move because they exist.
#[test]
fn classic_buckets_are_as_before() {
    let latency = Latency::new();
    latency.observe(35e-6);
    let histogram = latency.to_proto();
    let uppers = histogram
        .get_bucket()
        .iter()
        .map(proto::Bucket::upper_bound);
    assert_eq!(uppers.collect::<Vec<f64>>(), bounds());
}

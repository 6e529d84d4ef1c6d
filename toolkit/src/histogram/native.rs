//! The native buckets of a latency: exponential bounds 2.2 % apart, of which only those with observations exist.
//!
//! The `prometheus` crate knows the classic histogram only. The native one is further fields of the same message
//! (`io.prometheus.client.Histogram`, prometheus/client_model `metrics.proto`), so it travels as fields the crate does
//! not know: the protobuf encoder writes them, the text encoder has no place for them.

use std::collections::BTreeMap;

use prometheus::proto;
use protobuf::well_known_types::empty::Empty;
use protobuf::{Message as _, UnknownValue};

/// 2^SCHEMA buckets for each doubling: the next bound is 2^(1/32) = 1.0219 times this one.
const SCHEMA: i32 = 5;
const PER_DOUBLING: f64 = 32.0;
/// Observations up to this many seconds (2^-24, 60 ns) share the zero bucket. No query is that fast.
const ZERO_THRESHOLD: f64 = 1.0 / (1 << 24) as f64;
/// The last bucket ends at 1024 s and takes what is above, so that a distribution has 1088 buckets at most.
const LAST: i32 = 320;

/// Field numbers of `Histogram` and `BucketSpan`.
mod field {
    pub(super) const SCHEMA: u32 = 5;
    pub(super) const ZERO_THRESHOLD: u32 = 6;
    pub(super) const ZERO_COUNT: u32 = 7;
    pub(super) const POSITIVE_SPAN: u32 = 12;
    pub(super) const POSITIVE_DELTA: u32 = 13;
    pub(super) const SPAN_OFFSET: u32 = 1;
    pub(super) const SPAN_LENGTH: u32 = 2;
}

/// Observations by bucket.
#[derive(Debug, Default)]
pub(super) struct Native {
    zero: u64,
    /// Bucket `i` holds what is above 2^((i-1)/32) s and up to 2^(i/32) s.
    buckets: BTreeMap<i32, u64>,
}

/// Buckets without a gap between them.
struct Span {
    /// From the end of the span before, or for the first one from bucket 0.
    offset: i32,
    length: u32,
}

impl Native {
    /// Counts one observation of `seconds`.
    pub(super) fn observe(&mut self, seconds: f64) {
        if seconds <= ZERO_THRESHOLD {
            self.zero += 1;
            return;
        }
        // A conversion that saturates: neither infinity nor a number that is none leaves the range.
        let index = (seconds.log2() * PER_DOUBLING).ceil() as i32;
        *self.buckets.entry(index.min(LAST)).or_default() += 1;
    }

    /// Adds the native fields to `histogram`. An empty distribution is recognised by its threshold.
    pub(super) fn write(&self, histogram: &mut proto::Histogram) {
        let fields = histogram.mut_unknown_fields();
        fields.add_value(field::SCHEMA, UnknownValue::sint32(SCHEMA));
        fields.add_fixed64(field::ZERO_THRESHOLD, ZERO_THRESHOLD.to_bits());
        fields.add_varint(field::ZERO_COUNT, self.zero);
        for span in self.spans() {
            fields.add_length_delimited(field::POSITIVE_SPAN, span.encode());
        }
        let mut before = 0;
        for &count in self.buckets.values() {
            // Counts stay far below 2^63; the difference of two is what travels.
            let delta = count.wrapping_sub(before).cast_signed();
            fields.add_value(field::POSITIVE_DELTA, UnknownValue::sint64(delta));
            before = count;
        }
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::<Span>::new();
        let mut next = 0;
        for &index in self.buckets.keys() {
            match spans.last_mut() {
                Some(last) if index == next => last.length += 1,
                _ => spans.push(Span {
                    offset: index - next,
                    length: 1,
                }),
            }
            next = index + 1;
        }
        spans
    }
}

impl Span {
    fn encode(&self) -> Vec<u8> {
        let mut span = Empty::new();
        let fields = span.mut_unknown_fields();
        fields.add_value(field::SPAN_OFFSET, UnknownValue::sint32(self.offset));
        fields.add_varint(field::SPAN_LENGTH, self.length.into());
        // Writing into memory fails only above 2 GiB.
        span.write_to_bytes().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;

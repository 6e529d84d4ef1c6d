//! The text exposition format 0.0.4.

use std::fmt::Write as _;

use prometheus::proto;

use crate::metric::{Family, Sample};

/// The text exposition format 0.0.4, byte for byte as the client library writes it, but without a string made for each
/// number: a large host has 60 000 of them in a scrape.
pub fn text(families: &[Family]) -> String {
    let mut out = String::with_capacity(families.iter().map(Family::text_bytes).sum());
    for family in families {
        let name = family.name();
        if !family.help().is_empty() {
            out.extend(["# HELP ", name, " "]);
            escape(&mut out, family.help(), false);
            out.push('\n');
        }
        out.extend(["# TYPE ", name, " ", family.kind().word(), "\n"]);
        for sample in family.samples() {
            if let Some(value) = sample.value() {
                line(&mut out, [name, ""], sample, None, value);
            }
            if let Some(distribution) = sample.histogram() {
                histogram(&mut out, name, sample, distribution);
            }
        }
    }
    out
}

fn histogram(out: &mut String, name: &str, sample: Sample<'_>, histogram: &proto::Histogram) {
    let count = histogram.get_sample_count() as f64;
    let buckets = histogram.get_bucket();
    for bucket in buckets {
        let (le, upto) = (bucket.upper_bound(), bucket.cumulative_count() as f64);
        line(out, [name, "_bucket"], sample, Some(le), upto);
    }
    if buckets
        .last()
        .is_none_or(|last| last.upper_bound() != f64::INFINITY)
    {
        line(out, [name, "_bucket"], sample, Some(f64::INFINITY), count);
    }
    let sum = histogram.get_sample_sum();
    line(out, [name, "_sum"], sample, None, sum);
    line(out, [name, "_count"], sample, None, count);
}

fn line(out: &mut String, name: [&str; 2], sample: Sample<'_>, le: Option<f64>, value: f64) {
    name.into_iter().for_each(|part| out.push_str(part));
    let mut separator = '{';
    for (label, text) in sample.labels() {
        out.push(separator);
        out.push_str(label);
        out.push_str("=\"");
        escape(out, text, true);
        out.push('"');
        separator = ',';
    }
    if let Some(le) = le {
        out.push(separator);
        out.push_str("le=\"");
        match le == f64::INFINITY {
            true => out.push_str("+Inf"),
            false => number(out, le),
        }
        out.push('"');
        separator = ',';
    }
    if separator == ',' {
        out.push('}');
    }
    out.push(' ');
    number(out, value);
    out.push('\n');
}

/// As `Display` prints it; whole numbers, which most are, without looking for their shortest decimals. Crates that find
/// those faster round a tie to even where `Display` rounds it up: 674.82525634765625.
fn number(out: &mut String, value: f64) {
    let whole = value as i64;
    let is_whole = whole as f64 == value && whole.unsigned_abs() < 1 << 53;
    if is_whole && (whole != 0 || value.is_sign_positive()) {
        out.push_str(itoa::Buffer::new().format(whole));
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
    }
}

fn escape(out: &mut String, text: &str, quotes: bool) {
    let special = |byte: u8| byte == b'\\' || byte == b'\n' || (quotes && byte == b'"');
    if !text.bytes().any(special) {
        out.push_str(text);
        return;
    }
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Metric, Sink};

    static INFO: Metric<1> = Metric::gauge("test_info", "Says \"who\".", &["name"]);

    #[test]
    fn text_has_help_type_and_escaped_labels() {
        let mut sink = Sink::new();
        sink.put(&INFO, ["a\"b\\c\nd"], 1.0);
        let text = text(&sink.into_families());
        assert_eq!(
            text,
            "# HELP test_info Says \"who\".\n# TYPE test_info gauge\ntest_info{name=\"a\\\"b\\\\c\\nd\"} 1\n"
        );
    }

    /// The client library's encoder is slow and right.
    #[test]
    fn text_is_what_the_client_library_writes() {
        static SECONDS: Metric<2> =
            Metric::histogram("test_seconds", "A \\ and\na line.", &["a", "b"]);
        static NONE: Metric<0> = Metric::gauge("test_none", "None.", &[]);
        let mut sink = Sink::new();
        let values = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            1e-7,
            1e15,
            1e16,
            1e300,
            9007199254740991.0,
            9007199254740992.0,
            1.5e9,
            18446744073709551615.0,
            1796076172.4586492,
            f64::MIN_POSITIVE,
            f64::MAX,
            f64::MIN,
        ];
        for (n, value) in values.into_iter().enumerate() {
            sink.put(&INFO, [&format!("é\"{n}\\\n")], value);
        }
        sink.put(&NONE, [], 1.0);
        let latency = crate::histogram::Latency::new();
        latency.observe(35e-6);
        latency.observe(100.0);
        for b in ["", "x"] {
            sink.put_histogram(&SECONDS, ["1", b], latency.to_proto());
        }
        let families = sink.into_families();
        let messages: Vec<_> = families.iter().map(Family::to_proto).collect();
        let theirs = prometheus::TextEncoder::new()
            .encode_to_string(&messages)
            .unwrap();
        assert_eq!(text(&families), theirs);
    }

    #[test]
    fn numbers_are_what_display_prints() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..50_000 {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            // Most samples are like these: a nanosecond to some years, in seconds.
            let near = (bits >> 11) as f64 / 10f64.powi(round % 26);
            let tie = f64::from(near as f32);
            for value in [f64::from_bits(bits), near, -near, near.trunc(), tie] {
                let mut out = String::new();
                if value.is_finite() {
                    number(&mut out, value);
                    assert_eq!(out, value.to_string());
                }
            }
        }
    }
}

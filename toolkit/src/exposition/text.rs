//! The text exposition format 0.0.4.

use std::fmt::Write as _;

use prometheus::proto::{LabelPair, MetricFamily, MetricType};

use super::Error;

/// The text exposition format 0.0.4, byte for byte as the client library writes it, but without a string made for each
/// number: a large host has 60 000 of them in a scrape.
///
/// # Errors
/// A family without samples or without a name, or of another type: a defect of its emitter.
pub fn text(families: &[MetricFamily]) -> Result<String, Error> {
    let samples: usize = families
        .iter()
        .map(|family| family.get_metric().len())
        .sum();
    let mut out = String::with_capacity(samples * 96);
    for family in families {
        let name = family.name();
        if name.is_empty() || family.get_metric().is_empty() {
            return Err(Error::Empty(name.to_owned()));
        }
        if !family.help().is_empty() {
            out.extend(["# HELP ", name, " "]);
            escape(&mut out, family.help(), false);
            out.push('\n');
        }
        let kind = family.get_field_type();
        let word = match kind {
            MetricType::COUNTER => "counter",
            MetricType::GAUGE => "gauge",
            MetricType::HISTOGRAM => "histogram",
            _ => return Err(Error::Type(name.to_owned())),
        };
        out.extend(["# TYPE ", name, " ", word, "\n"]);
        for metric in family.get_metric() {
            let labels = metric.get_label();
            match kind {
                MetricType::COUNTER => sample(
                    &mut out,
                    [name, ""],
                    labels,
                    None,
                    metric.get_counter().value(),
                ),
                MetricType::GAUGE => sample(
                    &mut out,
                    [name, ""],
                    labels,
                    None,
                    metric.get_gauge().value(),
                ),
                _ => {
                    let histogram = metric.get_histogram();
                    for bucket in histogram.get_bucket() {
                        let le = Some(bucket.upper_bound());
                        sample(
                            &mut out,
                            [name, "_bucket"],
                            labels,
                            le,
                            bucket.cumulative_count() as f64,
                        );
                    }
                    let count = histogram.get_sample_count() as f64;
                    let last = histogram.get_bucket().last();
                    if last.is_none_or(|bucket| bucket.upper_bound() != f64::INFINITY) {
                        sample(
                            &mut out,
                            [name, "_bucket"],
                            labels,
                            Some(f64::INFINITY),
                            count,
                        );
                    }
                    sample(
                        &mut out,
                        [name, "_sum"],
                        labels,
                        None,
                        histogram.get_sample_sum(),
                    );
                    sample(&mut out, [name, "_count"], labels, None, count);
                }
            }
        }
    }
    Ok(out)
}

fn sample(out: &mut String, name: [&str; 2], labels: &[LabelPair], le: Option<f64>, value: f64) {
    out.extend(name);
    let mut separator = '{';
    for label in labels {
        out.push(separator);
        out.extend([label.name(), "=\""]);
        escape(out, label.value(), true);
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

/// As `Display` prints it; whole numbers, which most are, without looking for their shortest decimals.
fn number(out: &mut String, value: f64) {
    let whole = value as i64;
    let is_whole = whole as f64 == value && whole.unsigned_abs() < 1 << 53;
    // Writing to a string cannot fail.
    let _ = match is_whole && (whole != 0 || value.is_sign_positive()) {
        true => write!(out, "{whole}"),
        false => write!(out, "{value}"),
    };
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
        let text = text(&sink.into_families()).unwrap();
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
        let theirs = prometheus::TextEncoder::new()
            .encode_to_string(&families)
            .unwrap();
        assert_eq!(text(&families).unwrap(), theirs);
    }

    #[test]
    fn a_family_without_samples_or_name_is_refused() {
        let mut family = MetricFamily::new();
        family.set_name("test_empty".to_owned());
        let refused = text(&[family]).unwrap_err().to_string();
        assert!(refused.contains("test_empty"), "{refused}");
        assert!(text(&[MetricFamily::new()]).is_err());
    }
}

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
        let plain = family.is_without(b"\\\n\"");
        let [line, bucket, sum, count] =
            ["", "_bucket", "_sum", "_count"].map(|suffix| Line::new(family, suffix, plain));
        for sample in family.samples() {
            if let Some(value) = sample.value() {
                line.write(&mut out, sample, None, value);
            }
            let Some(histogram) = sample.histogram() else {
                continue;
            };
            for (le, upto) in buckets(histogram) {
                bucket.write(&mut out, sample, Some(le), upto as f64);
            }
            sum.write(&mut out, sample, None, histogram.get_sample_sum());
            count.write(&mut out, sample, None, histogram.get_sample_count() as f64);
        }
    }
    out
}

/// The upper bound of each bucket with the observations up to it; the last bound is infinite.
fn buckets(histogram: &proto::Histogram) -> impl Iterator<Item = (f64, u64)> {
    let buckets = histogram.get_bucket();
    let all = buckets
        .iter()
        .map(|bucket| (bucket.upper_bound(), bucket.cumulative_count()));
    let last = buckets.last().map(|bucket| bucket.upper_bound());
    let whole =
        (last != Some(f64::INFINITY)).then(|| (f64::INFINITY, histogram.get_sample_count()));
    all.chain(whole)
}

/// What the lines of a family have in common.
struct Line {
    /// What stands before each label value: `name{first="`, then `",second="`.
    before: Vec<String>,
    /// What stands before the value of `le`, which comes last.
    before_le: String,
    /// What stands before the value.
    end: String,
    /// Whether label values need no escapes.
    plain: bool,
}

impl Line {
    fn new(family: &Family, suffix: &str, plain: bool) -> Self {
        let name = format!("{}{suffix}", family.name());
        let labels = family.labels().iter().enumerate();
        Line {
            before: labels
                .map(|(index, label)| match index {
                    0 => format!("{name}{{{label}=\""),
                    _ => format!("\",{label}=\""),
                })
                .collect(),
            before_le: match family.labels() {
                [] => format!("{name}{{le=\""),
                _ => "\",le=\"".to_owned(),
            },
            end: match family.labels() {
                [] => format!("{name} "),
                _ => "\"} ".to_owned(),
            },
            plain,
        }
    }

    fn write(&self, out: &mut String, sample: Sample<'_>, le: Option<f64>, value: f64) {
        for (before, (_, text)) in self.before.iter().zip(sample.labels()) {
            out.push_str(before);
            match self.plain {
                true => out.push_str(text),
                false => escape(out, text, true),
            }
        }
        match le {
            Some(le) => {
                out.push_str(&self.before_le);
                match le == f64::INFINITY {
                    true => out.push_str("+Inf"),
                    false => number(out, le),
                }
                out.push_str("\"} ");
            }
            None => out.push_str(&self.end),
        }
        number(out, value);
        out.push('\n');
    }
}

/// As `Display` prints it, without its search for the shortest decimals where they are known: whole numbers, and times
/// and energies, which were whole nano- or microunits. Crates that search faster round a tie to even where `Display`
/// rounds it up: 674.82525634765625.
fn number(out: &mut String, value: f64) {
    let whole = value as i64;
    let is_whole = whole as f64 == value && whole.unsigned_abs() < 1 << 53;
    if is_whole && (whole != 0 || value.is_sign_positive()) {
        out.push_str(itoa::Buffer::new().format(whole));
    } else if !decimals(out, value, 9) && !decimals(out, value, 6) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
    }
}

/// Writes a positive `value` that is a whole number of 10^-`places`; `false`, and nothing written, if it is not.
///
/// Numbers of up to 15 digits are told apart by an `f64`. So if one of them gives `value`, no other of as many digits
/// does, and without its zeros at the end it is the shortest.
fn decimals(out: &mut String, value: f64, places: u32) -> bool {
    let unit = 10_u64.pow(places);
    let scaled = (value * unit as f64).round();
    if !(scaled > 0.0 && scaled < 1e15 && scaled / unit as f64 == value) {
        return false;
    }
    let (whole, mut rest) = (scaled as u64 / unit, scaled as u64 % unit);
    let mut digits = places as usize;
    while digits > 1 && rest.is_multiple_of(10) {
        (rest, digits) = (rest / 10, digits - 1);
    }
    let mut buffer = itoa::Buffer::new();
    out.push_str(buffer.format(whole));
    out.push('.');
    let rest = buffer.format(rest);
    (rest.len()..digits).for_each(|_| out.push('0'));
    out.push_str(rest);
    true
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

    /// Whatever the units a number was counted in.
    #[test]
    fn numbers_are_as_display_prints_them() {
        // A linear congruential generator: the same numbers in each run.
        let mut state = 1_u64;
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let bits = state >> (state >> 58);
            for value in [
                bits as f64,
                bits as f64 / 1e9,
                bits as f64 / 1e6,
                bits as f64 / 100.0,
            ]
            .into_iter()
            .chain(Some(f64::from_bits(bits)).filter(|value| value.is_finite()))
            {
                let mut out = String::new();
                number(&mut out, value);
                assert_eq!(out, value.to_string());
                out.clear();
                number(&mut out, -value);
                assert_eq!(out, (-value).to_string());
            }
        }
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

//! Durations as people write them: a whole number and `us`, `ms`, `s` or `m`, or a bare `0`.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer};

use toolkit::config::text;

/// A duration of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

/// Reads a duration.
fn parse(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let micros_per_unit = match &text[digits..] {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "" if number == 0 => 1,
        _ => return None,
    };
    number
        .checked_mul(micros_per_unit)
        .map(Duration::from_micros)
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read(from, "a duration such as 250ms", |text| {
            parse(text).map(Span).ok_or_else(|| {
                format!(
                    "`{text}` is not a duration; write a whole number and us, ms, s or m, such as 250ms"
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        for (text, micros) in [
            ("7us", 7),
            ("250ms", 250_000),
            ("2s", 2_000_000),
            ("5m", 300_000_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_micros(micros)), "{text}");
        }
        assert_eq!(parse("0"), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in [
            "",
            "5",
            "ms",
            "-1s",
            "1.5s",
            "1 s",
            "1h",
            "99999999999999999m",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

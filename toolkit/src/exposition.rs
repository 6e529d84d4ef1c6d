//! Families of samples as the bytes of a scrape's answer.
//!
//! The text format 0.0.4 is what every Prometheus reads and what is sent here, whatever the `Accept` header prefers.

use prometheus::TextEncoder;
use prometheus::proto::MetricFamily;

/// The media type of [`text`].
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why families could not be written down.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode the metrics: {0}")]
pub struct Error(#[from] prometheus::Error);

/// The text exposition format 0.0.4.
///
/// # Errors
/// A family without samples or without a name: a defect of its emitter.
pub fn text(families: &[MetricFamily]) -> Result<String, Error> {
    Ok(TextEncoder::new().encode_to_string(families)?)
}

/// Whether a client with this `Accept` header takes the text format. A client that says nothing takes anything.
pub fn accepts_text(accept: Option<&str>) -> bool {
    let Some(accept) = accept else { return true };
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default().to_ascii_lowercase();
        let refused = parts.any(|p| {
            let (name, value) = p.split_once('=').unwrap_or((p, ""));
            name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0)
        });
        let media_fits = matches!(media.as_str(), "*/*" | "text/*" | "text/plain" | "");
        media_fits && !refused
    })
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

    #[test]
    fn the_accept_headers_of_real_clients_take_text() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
        for accept in [
            None,
            Some("*/*"),
            Some(prometheus),
            Some("Text/Plain"),
            Some("text/html, text/*;q=0.9"),
        ] {
            assert!(accepts_text(accept), "{accept:?}");
        }
        for accept in [
            Some("application/json"),
            Some("text/plain;q=0"),
            Some("image/*"),
        ] {
            assert!(!accepts_text(accept), "{accept:?}");
        }
    }
}

//! Families of samples as the bytes of a scrape's answer, in the format that the client likes best.
//!
//! The text format 0.0.4 is what every Prometheus reads; delimited protobuf is what Prometheus asks for where it takes
//! native histograms, which text cannot carry. OpenMetrics is not offered: it would add `_created` series and exemplars
//! that nothing here has, and every client that asks for it takes text too.

mod text;

use prometheus::{Encoder as _, ProtobufEncoder};

pub use self::text::text;
use crate::accept::{self, Range};
use crate::metric::Family;

/// Why families could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client library's encoder of protobuf refuses a family.
    #[error("cannot encode the metrics: {0}")]
    Protobuf(#[from] prometheus::Error),
}

/// How families are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text exposition format 0.0.4.
    Text,
    /// `MetricFamily` messages of `io.prometheus.client`, each with its length in front.
    Protobuf,
}

impl Format {
    /// Every format, the one that is preferred among equals first: whoever has no preference is a person.
    pub const ALL: [Format; 2] = [Format::Text, Format::Protobuf];

    /// The media type of an answer in this format.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// The format that a client with this `Accept` header likes best; `None` if it takes none of them. A client that
    /// says nothing takes anything.
    pub fn negotiate(accept: Option<&str>) -> Option<Format> {
        let Some(accept) = accept else {
            return Some(Format::Text);
        };
        let ranges = accept::parse(accept);
        let mut best = (0.0, None);
        for format in Format::ALL {
            let quality = accept::quality(&ranges, |range| format.specificity(range));
            if quality > best.0 {
                best = (quality, Some(format));
            }
        }
        best.1
    }

    /// How closely `range` describes this format; `None` if it describes something else. Protobuf has to be named:
    /// whoever takes anything is not to be surprised with it.
    fn specificity(self, range: &Range<'_>) -> Option<u8> {
        let says = |name, expected| range.parameter(name).is_none_or(|value| value == expected);
        match self {
            // Any version: whoever reads a later one reads 0.0.4.
            Format::Text if range.is("text/plain") => Some(2),
            Format::Text if range.is("text/*") => Some(1),
            Format::Text => (range.is("*/*") || range.is("")).then_some(0),
            Format::Protobuf => (range.is("application/vnd.google.protobuf")
                && says("proto", "io.prometheus.client.MetricFamily")
                && says("encoding", "delimited"))
            .then_some(2),
        }
    }

    /// Writes `families` down.
    ///
    /// # Errors
    /// The client library refuses a family: a defect of its emitter. Text has no such case.
    pub fn encode(self, families: &[Family]) -> Result<Vec<u8>, Error> {
        match self {
            Format::Text => Ok(text(families).into_bytes()),
            Format::Protobuf => {
                let mut bytes = Vec::new();
                // One at a time: a message takes some times the memory of its family.
                for family in families {
                    ProtobufEncoder::new().encode(&[family.to_proto()], &mut bytes)?;
                }
                Ok(bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Answers in gzip for clients that take it: a scrape of text shrinks to a sixth.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Response;
use hyper::header::{CONTENT_ENCODING, HeaderValue, VARY};

use crate::accept;

/// Shorter answers fit one packet anyway.
const MIN_BYTES: usize = 1 << 10;

/// Compresses `response` if a client with this `Accept-Encoding` header takes gzip and there is enough to compress.
pub(super) fn apply(
    accept_encoding: Option<&str>,
    mut response: Response<Vec<u8>>,
) -> Response<Vec<u8>> {
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    response.headers_mut().insert(VARY, vary);
    if response.body().len() < MIN_BYTES || !takes_gzip(accept_encoding) {
        return response;
    }
    match gzip(response.body()) {
        Ok(compressed) => {
            let encoding = HeaderValue::from_static("gzip");
            response.headers_mut().insert(CONTENT_ENCODING, encoding);
            response.map(|_| compressed)
        }
        Err(error) => {
            tracing::warn!(%error, "an answer is sent uncompressed");
            response
        }
    }
}

fn takes_gzip(accept_encoding: Option<&str>) -> bool {
    let Some(header) = accept_encoding else {
        return false;
    };
    let specificity = |range: &accept::Range<'_>| {
        let exact = range.is("gzip") || range.is("x-gzip");
        exact.then_some(1).or_else(|| range.is("*").then_some(0))
    };
    accept::quality(&accept::parse(header), specificity) > 0.0
}

/// The fastest level: on the host that is measured, CPU time counts for more than bytes.
fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn sent(accept_encoding: Option<&str>, body: &str) -> Response<Vec<u8>> {
        apply(accept_encoding, Response::new(body.as_bytes().to_vec()))
    }

    #[test]
    fn what_is_compressed_reads_the_same() {
        let body = "wakelag_cpuidle_state_entries_total{cpu=\"0\"} 1\n".repeat(1000);
        let response = sent(Some("gzip"), &body);
        assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
        assert!(response.body().len() < body.len() / 10);
        let mut read = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&response.body()[..]);
        decoder.read_to_string(&mut read).unwrap();
        assert_eq!(read, body);
    }

    #[test]
    fn only_long_answers_to_who_asks_are_compressed() {
        let long = "x".repeat(MIN_BYTES);
        for (accept_encoding, body, compressed) in [
            (Some("gzip"), &long[..], true),
            (Some("deflate, GZIP;q=0.5"), &long, true),
            (Some("*"), &long, true),
            (Some("gzip"), &long[1..], false),
            (None, &long, false),
            (Some("identity"), &long, false),
            (Some("gzip;q=0"), &long, false),
            (Some("*, gzip;q=0"), &long, false),
        ] {
            let response = sent(accept_encoding, body);
            let is_compressed = response.headers().contains_key(CONTENT_ENCODING);
            assert_eq!(
                is_compressed,
                compressed,
                "{accept_encoding:?} {}",
                body.len()
            );
            assert!(response.headers().contains_key(VARY));
        }
    }
}

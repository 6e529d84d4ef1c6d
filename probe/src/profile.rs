//! Which profile a host is in: asked of the exporter, in process or over HTTP, once a second for every host.
//!
//! A latency observation is stamped with the profile only when the readings before and after it agree, so what matters
//! here is that a reading that failed says so: the last one seen is never taken for the present one.

use std::sync::Arc;
use std::time::Duration;

use exporter::scrape::Selection;
use exporter::settings::PROFILE_INFO;
use exporter::site::Exporter;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use toolkit::metric::family;

/// How often a host is asked.
pub const EVERY: Duration = Duration::from_secs(1);
/// A reading that takes longer than this failed.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The settings of a host with 1024 CPUs are a tenth of this.
const MAX_ANSWER_BYTES: usize = 8 << 20;

/// Who knows a host's profile.
#[derive(Clone)]
pub enum Source {
    /// The exporter in this process.
    Here(Arc<Exporter>),
    /// The exporter at this address.
    There(Uri),
    /// Nobody: the host is another one, and no exporter was named.
    Nobody,
}

/// Why a profile could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody can be asked.
    #[error("no exporter is configured for this host; set profile_from")]
    Nobody,
    /// The exporter did not answer in time.
    #[error("{0}: no answer within {timeout} s", timeout = TIMEOUT.as_secs())]
    Timeout(Uri),
    /// The exporter could not be reached.
    #[error("{0}: {1}")]
    Unreachable(Uri, Box<dyn std::error::Error + Send + Sync>),
    /// The exporter answered something else.
    #[error("{0}: {1}")]
    Refused(Uri, String),
    /// The settings cannot be read.
    #[error("the settings of this host cannot be read")]
    Unreadable,
}

impl Source {
    /// The profile the host is in now.
    ///
    /// # Errors
    /// It is not known.
    pub async fn read(&self) -> Result<String, Error> {
        match self {
            Source::Here(exporter) => here(exporter).await,
            Source::There(uri) => tokio::time::timeout(TIMEOUT, there(uri))
                .await
                .unwrap_or_else(|_| Err(Error::Timeout(uri.clone()))),
            Source::Nobody => Err(Error::Nobody),
        }
    }
}

async fn here(exporter: &Exporter) -> Result<String, Error> {
    let settings = Selection::Only(vec!["settings".to_owned()]);
    let families = exporter.scrape(settings).await;
    let families = families.map_err(|_| Error::Unreadable)?;
    family(&families, PROFILE_INFO.desc().name)
        .and_then(|family| family.samples().next())
        .and_then(|sample| sample.label("profile"))
        .map(str::to_owned)
        .ok_or(Error::Unreadable)
}

async fn there(uri: &Uri) -> Result<String, Error> {
    let text = fetch(uri)
        .await
        .map_err(|e| Error::Unreachable(uri.clone(), e))?;
    let text = text.map_err(|status| Error::Refused(uri.clone(), format!("answered {status}")))?;
    profile_of(&text).ok_or_else(|| {
        let problem = "does not publish wakelag_profile_info; is it a wakelag-exporter?";
        Error::Refused(uri.clone(), problem.to_owned())
    })
}

type Unreachable = Box<dyn std::error::Error + Send + Sync>;

/// The exposition of the settings, or the status of an answer that is none.
async fn fetch(uri: &Uri) -> Result<Result<String, hyper::StatusCode>, Unreachable> {
    let host = uri.host().ok_or("no host")?;
    let port = uri.port_u16().unwrap_or(80);
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((name, port)).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let path = uri.path().trim_end_matches('/');
    let path = if path.is_empty() { "/metrics" } else { path };
    let request = Request::get(format!("{path}?collect%5B%5D=settings"))
        .header(HOST, format!("{host}:{port}"))
        .header(ACCEPT, "text/plain")
        .body(Empty::<Bytes>::new())?;
    let answer = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        if !status.is_success() {
            return Ok(Err(status));
        }
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES)
            .collect()
            .await?;
        Ok(Ok(String::from_utf8(body.to_bytes().into())?))
    };
    // The connection is driven beside the request and dropped with it.
    tokio::select! {
        answer = answer => answer,
        ended = connection => Err(ended.err().map_or_else(|| "the connection ended".into(), Into::into)),
    }
}

/// The label `profile` of the family `wakelag_profile_info` in an exposition.
fn profile_of(text: &str) -> Option<String> {
    let prefix = format!("{}{{", PROFILE_INFO.desc().name);
    let labels = text.lines().find_map(|line| line.strip_prefix(&prefix))?;
    let value = labels.split_once("profile=\"")?.1;
    let (mut profile, mut characters) = (String::new(), value.chars());
    loop {
        match characters.next()? {
            '"' => return Some(profile),
            '\\' => match characters.next()? {
                'n' => profile.push('\n'),
                escaped => profile.push(escaped),
            },
            plain => profile.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_found_in_an_exposition() {
        let text = "# TYPE wakelag_profile_info gauge\nwakelag_profile_info{profile=\"performance/idle<=C1@2us\",governor=\"performance\"} 1\n";
        assert_eq!(profile_of(text), Some("performance/idle<=C1@2us".into()));
        assert_eq!(
            profile_of("wakelag_profile_info{profile=\"a\\\"b\\\\\"} 1"),
            Some("a\"b\\".into())
        );
        assert_eq!(profile_of("wakelag_profile_info{profile=\"cut"), None);
        assert_eq!(profile_of("node_cpu 1\n"), None);
        assert_eq!(profile_of(""), None);
    }

    #[tokio::test]
    async fn an_exporter_that_is_not_there_is_an_error_that_names_it() {
        let error = Source::There(Uri::from_static("http://127.0.0.1:1"))
            .read()
            .await;
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("http://127.0.0.1:1/: "), "{error}");
    }
}

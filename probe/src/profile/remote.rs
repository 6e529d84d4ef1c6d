//! The exporter of another host, over HTTP.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, spawn_blocking};

/// The settings of a host with 1024 CPUs are a tenth of this.
const MAX_ANSWER_BYTES: usize = 8 << 20;

/// Why an exporter could not be reached.
pub(super) type Unreachable = Box<dyn std::error::Error + Send + Sync>;

type Addresses = std::io::Result<Vec<SocketAddr>>;

/// An exporter at an address.
///
/// A name is looked up at each reading, so that a host that moves is followed, and never twice at a time: where the
/// resolver is silent for longer than a reading may take, the next reading waits for the look-up that is under way.
/// `getaddrinfo(3)` cannot be called off, and one a second would fill the process with threads.
#[derive(Debug)]
pub struct Remote {
    uri: Uri,
    look_up: fn(&str, u16) -> Addresses,
    pending: Option<JoinHandle<Addresses>>,
}

impl Remote {
    /// The exporter at `uri`, as `http://host:port`.
    pub fn new(uri: Uri) -> Self {
        Remote {
            uri,
            look_up: |host, port| (host, port).to_socket_addrs().map(Iterator::collect),
            pending: None,
        }
    }

    /// Where it is.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The exposition of the settings, or the status of an answer that is none. May be dropped at any time.
    pub(super) async fn fetch(&mut self) -> Result<Result<String, StatusCode>, Unreachable> {
        let host = self.uri.host().ok_or("no host")?.to_owned();
        let port = self.uri.port_u16().unwrap_or(80);
        let addresses = self.addresses(&host, port).await?;
        let stream = TcpStream::connect(&*addresses).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let path = self.uri.path().trim_end_matches('/');
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

    async fn addresses(&mut self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Unreachable> {
        let name = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(ip) = name.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let (look_up, name) = (self.look_up, name.to_owned());
        let pending = self
            .pending
            .get_or_insert_with(|| spawn_blocking(move || look_up(&name, port)));
        let found = pending.await;
        self.pending = None;
        Ok(found??)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);
    static ANSWERS: AtomicBool = AtomicBool::new(false);

    /// A resolver that is silent until it is told to answer.
    fn silent(_: &str, port: u16) -> Addresses {
        LOOK_UPS.fetch_add(1, Ordering::SeqCst);
        while !ANSWERS.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
    }

    /// There was one more thread a second, up to 512.
    #[tokio::test]
    async fn a_resolver_that_is_silent_is_not_asked_beside_itself() {
        let mut remote = Remote {
            look_up: silent,
            ..Remote::new(Uri::from_static("http://db1:1"))
        };
        for _ in 0..3 {
            let reading = tokio::time::timeout(Duration::from_millis(50), remote.fetch());
            assert!(reading.await.is_err());
        }
        assert_eq!(LOOK_UPS.load(Ordering::SeqCst), 1);
        ANSWERS.store(true, Ordering::SeqCst);
        let refused = remote.fetch().await.unwrap_err().to_string();
        assert!(refused.contains("refused"), "{refused}");
        assert_eq!(LOOK_UPS.load(Ordering::SeqCst), 1);
        assert!(remote.fetch().await.is_err());
        assert_eq!(
            LOOK_UPS.load(Ordering::SeqCst),
            2,
            "a host that moves is followed"
        );
    }
}

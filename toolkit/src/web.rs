//! The web server of both programs: `/`, `/metrics`, `/-/healthy`, `/-/ready`.
//!
//! The listener is handed in and shutdown is a future, so tests and socket activation need nothing special. Everything
//! a client can make the server hold is bounded: connections, requests under way, header size and time, and the life of
//! a connection.

mod answer;
mod compress;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use maud::Markup;
use prometheus::proto::MetricFamily;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

pub use self::answer::Body;

/// Longest request head, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// A client has this long to send a request head, also on a connection it keeps.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// After this an answer asks the client to make a new connection, so that none ends in the middle of a request.
const CONNECTION_LIFE: Duration = Duration::from_secs(240);
/// Then a connection is dropped: a client that reads nothing cannot hold memory for longer.
const MAX_CONNECTION_LIFE: Duration = Duration::from_secs(300);
/// Requests under way have this long when the program ends.
const GRACE: Duration = Duration::from_secs(5);
/// Connections for each request that may be under way: keep-alive clients that are silent now.
const CONNECTIONS_PER_REQUEST: usize = 4;

/// Why there are no metrics for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The query string asks for what is not there: 400.
    BadRequest(String),
    /// Not now: 503.
    Unavailable(String),
}

/// The decoded pairs of a query string.
pub type Query = Vec<(String, String)>;

/// What a program serves.
pub trait Site: Send + Sync + 'static {
    /// The page at `/`.
    fn page(&self) -> impl Future<Output = Markup> + Send;
    /// The families for `/metrics`, sorted by name.
    fn metrics(
        &self,
        query: Query,
    ) -> impl Future<Output = Result<Vec<MetricFamily>, Refusal>> + Send;
    /// Whether the program does its work; the reason if not.
    ///
    /// # Errors
    /// The sentence for whoever asked.
    fn ready(&self) -> Result<(), String>;
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; choose another address with --web.listen-address")]
pub struct BindError {
    address: SocketAddr,
    source: io::Error,
}

/// Opens the listening socket.
///
/// # Errors
/// The port is in use, or the address is not of this host.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| BindError { address, source })
}

/// Ends when the process is asked to: SIGTERM or SIGINT.
///
/// # Errors
/// The signals cannot be listened for.
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("asked to end");
    })
}

/// Serves `site` on `listener` until `shutdown`, with at most `max_requests` requests under way.
pub async fn serve(
    listener: TcpListener,
    site: Arc<impl Site>,
    max_requests: u16,
    shutdown: impl Future<Output = ()>,
) {
    let max_requests = usize::from(max_requests);
    let requests = Arc::new(Semaphore::new(max_requests));
    let connections = Arc::new(Semaphore::new(max_requests * CONNECTIONS_PER_REQUEST));
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of descriptors, most likely: trying again at once would spin.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else {
            tracing::debug!("too many connections: one is refused");
            continue;
        };
        let (site, requests) = (Arc::clone(&site), Arc::clone(&requests));
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            connection(stream, site, requests, watcher).await;
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests were still under way when the program ended");
    }
}

async fn connection(
    stream: TcpStream,
    site: Arc<impl Site>,
    requests: Arc<Semaphore>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let opened = Instant::now();
    let service = service_fn(move |request: Request<Incoming>| {
        let (site, requests) = (Arc::clone(&site), Arc::clone(&requests));
        async move {
            let mut response = answer::to(&request, &*site, &requests).await;
            if opened.elapsed() > CONNECTION_LIFE {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            Ok::<Response<Body>, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let watched = watcher.watch(served);
    match tokio::time::timeout(MAX_CONNECTION_LIFE, watched).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "connection ended"),
        Err(_) => tracing::debug!("connection ended: it was open for too long"),
    }
}

#[cfg(test)]
mod tests;

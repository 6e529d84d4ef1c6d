//! The life of one connection: handshake, requests, end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::answer::{self, Body};
use super::{Shared, Site};

/// Longest request head, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// A client has this long for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A client has this long to send a request head, also on a connection it keeps.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// After this an answer asks the client to make a new connection, so that none ends in the middle of a request.
const CONNECTION_LIFE: Duration = Duration::from_secs(240);
/// Then a connection is dropped: a client that reads nothing cannot hold memory for longer.
const MAX_CONNECTION_LIFE: Duration = Duration::from_secs(300);

/// Serves `stream` to its end, as the settings in force say.
pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared<impl Site>>, watcher: Watcher) {
    let Some(tls) = shared.config.current().tls.clone() else {
        return requests(stream, shared, watcher).await;
    };
    let handshake = TlsAcceptor::from(tls).accept(stream);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
        Ok(Ok(stream)) => requests(stream, shared, watcher).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake took too long"),
    }
}

async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    shared: Arc<Shared<impl Site>>,
    watcher: Watcher,
) {
    let opened = Instant::now();
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let mut response = answer::to(&request, &shared).await;
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

//! The web server of both programs: `/`, `/metrics`, `/-/healthy`, `/-/ready`, `/-/reload`.
//!
//! Opening is a step of its own, so that a mistake in the flags ends the program before it does anything; shutdown is a
//! future. Everything a client can make the server hold is bounded: connections, requests under way, header size and
//! time, handshakes, and the life of a connection.

mod answer;
mod auth;
mod compress;
mod config;
mod connection;
mod listen;
mod tls;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use maud::Markup;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;

use self::config::WebConfig;
pub use self::listen::ListenError;
use self::listen::Listeners;
use crate::metric::Family;
use crate::{flags, systemd};

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
    fn metrics(&self, query: Query) -> impl Future<Output = Result<Vec<Family>, Refusal>> + Send;
    /// Whether the program does its work; the reason if not.
    ///
    /// # Errors
    /// The sentence for whoever asked.
    fn ready(&self) -> Result<(), String>;
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is nothing to listen on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The web configuration file was refused.
    #[error(transparent)]
    Config(#[from] crate::config::Error),
    /// SIGHUP cannot be listened for.
    #[error("cannot listen for signals: {0}")]
    Signal(io::Error),
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

/// What all connections have in common.
struct Shared<S> {
    site: Arc<S>,
    config: WebConfig,
    requests: Semaphore,
}

/// A server whose sockets are open and whose configuration is read.
#[derive(Debug)]
pub struct Server {
    listeners: Listeners,
    config: WebConfig,
    max_requests: usize,
    hangup: Signal,
}

impl Server {
    /// Reads the configuration and opens the sockets that `flags` name; without any, one on `default`.
    ///
    /// # Errors
    /// The file is wrong, or an address cannot be listened on.
    pub async fn open(flags: &flags::Web, default: SocketAddr) -> Result<Self, StartError> {
        let config = WebConfig::load(flags.config_file.as_deref())?;
        let listeners = match (flags.systemd_socket, &*flags.listen_addresses) {
            (true, _) => Listeners::from_systemd()?,
            (false, []) => Listeners::bind(&[default]).await?,
            (false, addresses) => Listeners::bind(addresses).await?,
        };
        Ok(Server {
            listeners,
            config,
            max_requests: usize::from(flags.max_requests),
            hangup: signal(SignalKind::hangup()).map_err(StartError::Signal)?,
        })
    }

    /// Where it listens, each as the start of an address for a browser.
    pub fn urls(&self) -> Vec<String> {
        let scheme = match self.config.current().tls {
            Some(_) => "https",
            None => "http",
        };
        let addresses = self.listeners.addresses().into_iter();
        addresses
            .map(|address| format!("{scheme}://{address}"))
            .collect()
    }

    /// The directories of the files that a reload of the web configuration reads, for a sandbox. Directories, since a
    /// renewed certificate is a new file under the old name; also of what links point to.
    pub fn directories(&self) -> BTreeSet<PathBuf> {
        let mut directories = BTreeSet::new();
        for file in self.config.files() {
            let target = file.canonicalize().unwrap_or_else(|_| file.clone());
            for file in [file, target] {
                directories.extend(file.parent().map(|parent| Path::new(".").join(parent)));
            }
        }
        directories
    }

    /// Serves `site` until `shutdown`, and then what is under way.
    pub async fn serve(self, site: Arc<impl Site>, shutdown: impl Future<Output = ()>) {
        let Server {
            listeners,
            config,
            max_requests,
            mut hangup,
        } = self;
        let shared = Arc::new(Shared {
            site,
            config,
            requests: Semaphore::new(max_requests),
        });
        let connections = Arc::new(Semaphore::new(max_requests * CONNECTIONS_PER_REQUEST));
        let graceful = GracefulShutdown::new();
        let mut shutdown = pin!(shutdown);
        systemd::ready();
        loop {
            let accepted = tokio::select! {
                accepted = listeners.accept() => accepted,
                _ = hangup.recv() => {
                    // What came of it is in the log.
                    let _ = shared.config.reload_and_log();
                    continue;
                }
                () = &mut shutdown => break,
            };
            let stream = match accepted {
                Ok(stream) => stream,
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
            let (shared, watcher) = (Arc::clone(&shared), graceful.watcher());
            tokio::spawn(async move {
                connection::serve(stream, shared, watcher).await;
                drop(permit);
            });
        }
        systemd::stopping();
        drop(listeners);
        let ended = tokio::time::timeout(GRACE, graceful.shutdown()).await;
        if ended.is_err() {
            tracing::warn!("requests were still under way when the program ended");
        }
    }
}

#[cfg(test)]
mod tests;

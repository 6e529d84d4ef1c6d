//! The listening sockets: one for each `--web.listen-address`, or those that systemd hands over.

use std::io;
use std::net::SocketAddr;
use std::task::Poll;

use listenfd::ListenFd;
use tokio::net::{TcpListener, TcpStream};

/// Why there is nothing to listen on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The port is in use, or the address is not of this host.
    #[error(
        "cannot listen on {address}: {source}; choose another address with --web.listen-address"
    )]
    Bind {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Not started by a socket unit.
    #[error(
        "--web.systemd-socket: systemd handed over no socket; start the program through its .socket unit"
    )]
    NoSocket,
    /// A socket that is no listening TCP socket.
    #[error("--web.systemd-socket: socket {number} cannot be used: {source}")]
    Socket {
        /// Its place in the socket unit, from 0.
        number: usize,
        /// What is wrong with it.
        source: io::Error,
    },
}

/// Open sockets.
#[derive(Debug)]
pub(super) struct Listeners(Vec<TcpListener>);

impl Listeners {
    /// Opens a socket on each of `addresses`.
    pub(super) async fn bind(addresses: &[SocketAddr]) -> Result<Self, ListenError> {
        let mut listeners = Vec::with_capacity(addresses.len());
        for &address in addresses {
            let bound = TcpListener::bind(address).await;
            listeners.push(bound.map_err(|source| ListenError::Bind { address, source })?);
        }
        Ok(Listeners(listeners))
    }

    /// Takes the sockets of `LISTEN_FDS`, as `sd_listen_fds(3)` describes them.
    pub(super) fn from_systemd() -> Result<Self, ListenError> {
        let mut handed = ListenFd::from_env();
        let mut listeners = Vec::with_capacity(handed.len());
        for number in 0..handed.len() {
            let refused = |source| ListenError::Socket { number, source };
            if let Some(listener) = handed.take_tcp_listener(number).map_err(refused)? {
                listener.set_nonblocking(true).map_err(refused)?;
                listeners.push(TcpListener::from_std(listener).map_err(refused)?);
            }
        }
        match listeners.is_empty() {
            true => Err(ListenError::NoSocket),
            false => Ok(Listeners(listeners)),
        }
    }

    /// The next connection on any of them.
    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        let accepted = std::future::poll_fn(|context| {
            for listener in &self.0 {
                if let Poll::Ready(accepted) = listener.poll_accept(context) {
                    return Poll::Ready(accepted);
                }
            }
            Poll::Pending
        });
        accepted.await.map(|(stream, _)| stream)
    }

    /// Where they listen.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.0.iter().map(TcpListener::local_addr);
        addresses.filter_map(Result::ok).collect()
    }
}

//! From an address to a connected socket, before a deadline.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr};

use super::{Stream, Wire};
use crate::engine::{Failure, Outcome};

impl Wire {
    /// Connects to the first of `addresses` that answers; each gets an equal share of the time left. Nagle's algorithm
    /// is off: two small writes would wait 40 ms for a delayed acknowledgement.
    ///
    /// # Errors
    /// None of them answered before `deadline`; the last one's error.
    pub fn tcp(addresses: &[SocketAddr], deadline: Instant) -> Result<Self, Failure> {
        let mut last = Failure::fatal(Outcome::Refused, "no address");
        for (tried, address) in addresses.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            // Zero would mean no limit.
            let connected =
                TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))).and_then(
                    |stream| {
                        stream.set_nodelay(true)?;
                        if stream.nodelay()? {
                            Ok(stream)
                        } else {
                            Err(io::Error::other("TCP_NODELAY did not stay on"))
                        }
                    },
                );
            match connected {
                Ok(stream) => return Ok(Wire::new(Stream::Tcp(stream))),
                Err(error) => last = connect_failure(&error, &address.to_string()),
            }
        }
        Err(last)
    }

    /// Connects to the UNIX socket `path`.
    ///
    /// # Errors
    /// There is no such socket, it is not ours to use, or nobody took the connection before `deadline`.
    pub fn unix(path: &Path, deadline: Instant) -> Result<Self, Failure> {
        let connect = || -> io::Result<UnixStream> {
            let fd = nix::sys::socket::socket(
                AddressFamily::Unix,
                SockType::Stream,
                SockFlag::SOCK_CLOEXEC,
                None,
            )?;
            let stream = UnixStream::from(fd);
            stream.set_write_timeout(Some(left_until(deadline)))?;
            nix::sys::socket::connect(stream.as_raw_fd(), &UnixAddr::new(path)?)?;
            Ok(stream)
        };
        connect()
            .map(|stream| Wire::new(Stream::Unix(stream)))
            .map_err(|error| connect_failure(&error, &path.display().to_string()))
    }
}

fn left_until(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    // Zero would mean no limit.
    left.max(Duration::from_millis(1))
}

/// What an error of connecting means: whatever is not a passed deadline is a refusal.
fn connect_failure(error: &io::Error, to: &str) -> Failure {
    let outcome = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Outcome::Timeout,
        _ => Outcome::Refused,
    };
    Failure::fatal(outcome, format!("{to}: {error}"))
}

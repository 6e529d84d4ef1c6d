//! The one socket: blocking, TCP or UNIX, plain or under TLS, every call under a deadline.
//!
//! The deadline is the socket's own timeout (SO_RCVTIMEO, SO_SNDTIMEO). It is set to the whole limit before the timed
//! span and stays so from query to query, so that a query answered in one read costs two system calls, a write and a
//! read; only further reads set what is left of the limit. TLS changes neither number: it turns bytes into bytes before
//! the write and after the read.
//!
//! Kernel: `connect(2)` of a UNIX socket waits for room in the listener's backlog under SO_SNDTIMEO (af_unix.c,
//! `unix_stream_connect`). Cost: a timer armed by each read that waits, in the kernel's timer wheel.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrLike as _, SockaddrStorage, UnixAddr,
};

use super::tls;
use crate::engine::{Failure, Outcome};

/// What one read may bring: the longest record of TLS (RFC 5246, 6.2.3), so that a reply of 16 kB is one read.
const READ_BYTES: usize = 18 * 1024 + 5;

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connected socket.
pub struct Wire {
    stream: Stream,
    tls: Option<Box<tls::Session>>,
    /// What goes out next, encrypted.
    sealed: Vec<u8>,
    scratch: Box<[u8; READ_BYTES]>,
    deadline: Instant,
    armed: Duration,
    fresh: bool,
}

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

    fn new(stream: Stream) -> Self {
        Wire {
            stream,
            tls: None,
            sealed: Vec::new(),
            scratch: Box::new([0; READ_BYTES]),
            deadline: Instant::now(),
            armed: Duration::ZERO,
            fresh: false,
        }
    }

    /// What the socket is connected by, as getpeername(2) says.
    pub fn transport(&self) -> &'static str {
        let peer = nix::sys::socket::getpeername::<SockaddrStorage>(self.fd().as_raw_fd());
        match peer.ok().and_then(|peer| peer.family()) {
            Some(AddressFamily::Inet | AddressFamily::Inet6) => "tcp",
            Some(AddressFamily::Unix) => "unix",
            _ => "unknown",
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }

    /// Gives what follows, up to the next call of this, `limit` of time in all.
    ///
    /// # Errors
    /// The socket takes no timeout.
    pub fn begin(&mut self, limit: Duration) -> Result<(), Failure> {
        self.arm(limit)?;
        self.deadline = Instant::now() + limit;
        self.fresh = true;
        Ok(())
    }

    /// Goes on under TLS; what the server says right behind its handshake is appended to `incoming`.
    ///
    /// # Errors
    /// Both sides do not agree, the server's certificate is not trusted, the deadline passed or the connection ended.
    pub(crate) fn encrypt(
        &mut self,
        mut session: tls::Session,
        incoming: &mut BytesMut,
    ) -> Result<(), Failure> {
        loop {
            self.sealed.clear();
            session.speak(&mut self.sealed);
            self.write_sealed()?;
            if !session.is_handshaking() {
                break;
            }
            let received = self.read()?;
            if let Err(failure) = session.open(&self.scratch[..received], incoming) {
                // The server's log is where somebody looks next.
                self.sealed.clear();
                session.speak(&mut self.sealed);
                let _ = self.write_sealed();
                return Err(failure);
            }
        }
        self.tls = Some(Box::new(session));
        Ok(())
    }

    /// The version of TLS in use, or `none`.
    pub fn tls(&self) -> &'static str {
        self.tls.as_ref().map_or("none", |tls| tls.version())
    }

    /// What an authentication can be bound to: `None` without TLS, and `Some(None)` where the server's certificate has
    /// nothing of the kind.
    pub(crate) fn end_point(&self) -> Option<Option<Vec<u8>>> {
        self.tls.as_ref().map(|tls| tls.end_point())
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// The deadline passed or the connection ended.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Some(tls) = &mut self.tls else {
            return self.write(bytes);
        };
        self.sealed.clear();
        tls.seal(bytes, &mut self.sealed)?;
        match self.write_sealed() {
            Err(failure) if failure.outcome == Outcome::Disconnected => {
                Err(self.last_words().unwrap_or(failure))
            }
            sent => sent,
        }
    }

    /// Why the server hung up: in TLS 1.3 it looks at a client's certificate when the client already goes on, and its
    /// alert may be here before the end of the connection is noticed by writing.
    fn last_words(&mut self) -> Option<Failure> {
        let mut unwanted = BytesMut::new();
        loop {
            match self.receive(&mut unwanted) {
                Ok(()) => unwanted.clear(),
                Err(failure) => return (failure.outcome == Outcome::Tls).then_some(failure),
            }
        }
    }

    /// Waits for bytes and appends what one read brings to `incoming`. Under TLS that may take several: a record is
    /// read to its end.
    ///
    /// # Errors
    /// The deadline passed or the connection ended.
    pub fn receive(&mut self, incoming: &mut BytesMut) -> Result<(), Failure> {
        let before = incoming.len();
        while incoming.len() == before {
            let received = self.read()?;
            let bytes = &self.scratch[..received];
            match &mut self.tls {
                None => incoming.extend_from_slice(bytes),
                Some(tls) => tls.open(bytes, incoming)?,
            }
        }
        Ok(())
    }

    fn write_sealed(&mut self) -> Result<(), Failure> {
        let sealed = std::mem::take(&mut self.sealed);
        let sent = self.write(&sealed);
        self.sealed = sealed;
        sent
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let sent = match &mut self.stream {
                Stream::Tcp(stream) => stream.write(bytes),
                Stream::Unix(stream) => stream.write(bytes),
            };
            match sent {
                Ok(0) => return Err(ended()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(&error)),
            }
            if !bytes.is_empty() {
                self.rearm()?;
            }
        }
        Ok(())
    }

    /// Waits for bytes and reads them into `scratch`; how many.
    fn read(&mut self) -> Result<usize, Failure> {
        loop {
            if !std::mem::take(&mut self.fresh) {
                self.rearm()?;
            }
            let scratch = self.scratch.as_mut_slice();
            let received = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(scratch),
                Stream::Unix(stream) => stream.read(scratch),
            };
            match received {
                Ok(0) => return Err(ended()),
                Ok(received) => return Ok(received),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(&error)),
            }
        }
    }

    fn rearm(&mut self) -> Result<(), Failure> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::fatal(Outcome::Timeout, "no reply in time"));
        }
        self.arm(left)
    }

    fn arm(&mut self, limit: Duration) -> Result<(), Failure> {
        if limit == self.armed {
            return Ok(());
        }
        // Zero would mean no limit.
        let timeout = Some(limit.max(Duration::from_micros(1)));
        match &self.stream {
            Stream::Tcp(stream) => stream
                .set_read_timeout(timeout)
                .and_then(|()| stream.set_write_timeout(timeout)),
            Stream::Unix(stream) => stream
                .set_read_timeout(timeout)
                .and_then(|()| stream.set_write_timeout(timeout)),
        }
        .map_err(|error| failure(&error))?;
        self.armed = limit;
        Ok(())
    }
}

impl fmt::Debug for Wire {
    /// What it is connected by, and nothing of what went over it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Wire({}, tls {})", self.transport(), self.tls())
    }
}

fn left_until(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    // Zero would mean no limit.
    left.max(Duration::from_millis(1))
}

fn ended() -> Failure {
    Failure::fatal(Outcome::Disconnected, "the server closed the connection")
}

/// What an error of a connected socket means.
fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Failure::fatal(Outcome::Timeout, "no reply in time")
        }
        _ => Failure::fatal(Outcome::Disconnected, error.to_string()),
    }
}

/// What an error of connecting means: whatever is not a passed deadline is a refusal.
fn connect_failure(error: &io::Error, to: &str) -> Failure {
    let outcome = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Outcome::Timeout,
        _ => Outcome::Refused,
    };
    Failure::fatal(outcome, format!("{to}: {error}"))
}

#[cfg(test)]
mod tests;

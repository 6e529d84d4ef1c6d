//! The one socket: blocking, TCP or UNIX, plain or under TLS, every call under a deadline.
//!
//! The deadline is the socket's own timeout (SO_RCVTIMEO). It is set to the whole limit before the timed
//! span and stays so from query to query, so that a query answered in one read costs two system calls, a write and a
//! read; only further reads set what is left of the limit. TLS changes neither number: it turns bytes into bytes before
//! the write and after the read.
//!
//! Kernel: `connect(2)` of a UNIX socket waits for room in the listener's backlog under SO_SNDTIMEO (af_unix.c,
//! `unix_stream_connect`). Cost: a timer armed by each read that waits, in the kernel's timer wheel.

mod dial;
mod send;

use std::fmt;
use std::io::{self, ErrorKind, Read as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use nix::sys::socket::{AddressFamily, SockaddrLike as _, SockaddrStorage};

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
        session: tls::Session,
        incoming: &mut BytesMut,
    ) -> Result<(), Failure> {
        let tls = self.tls.insert(Box::new(session));
        self.sealed.clear();
        tls.speak(&mut self.sealed);
        self.write_sealed(incoming)?;
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            let received = self.read()?;
            let opened = self.open(received, incoming);
            self.sealed.clear();
            if let Some(tls) = &mut self.tls {
                tls.speak(&mut self.sealed);
            }
            // After a failure that is an alert: the server's log is where somebody looks next.
            let sent = self.write_sealed(incoming);
            opened.and(sent)?;
        }
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

    /// Waits for bytes and appends what one read brings to `incoming`. Under TLS that may take several: a record is
    /// read to its end.
    ///
    /// # Errors
    /// The deadline passed or the connection ended.
    pub fn receive(&mut self, incoming: &mut BytesMut) -> Result<(), Failure> {
        let before = incoming.len();
        while incoming.len() == before {
            let received = self.read()?;
            self.open(received, incoming)?;
        }
        Ok(())
    }

    /// Appends what the first `received` bytes of `scratch` say to `incoming`.
    fn open(&mut self, received: usize, incoming: &mut BytesMut) -> Result<(), Failure> {
        let bytes = &self.scratch[..received];
        match &mut self.tls {
            None => incoming.extend_from_slice(bytes),
            Some(tls) => tls.open(bytes, incoming)?,
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
            return Err(late());
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
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
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

fn late() -> Failure {
    Failure::fatal(Outcome::Timeout, "no reply in time")
}

fn ended() -> Failure {
    Failure::fatal(Outcome::Disconnected, "the server closed the connection")
}

/// What an error of a connected socket means.
fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => Failure::fatal(Outcome::Disconnected, error.to_string()),
    }
}

#[cfg(test)]
mod tests;

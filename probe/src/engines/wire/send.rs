//! Sending, without ever waiting for a server that waits for us to read.

use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::MsgFlags;

use super::{Wire, ended, failure, late};
use crate::engine::{Failure, Outcome};

/// What may come while a request is sent.
const MAX_EARLY_BYTES: usize = 64 * 1024 * 1024;

impl Wire {
    /// Sends all of `bytes`. What comes before the server has taken them is appended to `incoming`: a server that answers
    /// the first of many statements need not read the others before somebody has read its answers.
    ///
    /// # Errors
    /// The deadline passed or the connection ended.
    pub fn send(&mut self, bytes: &[u8], incoming: &mut BytesMut) -> Result<(), Failure> {
        let Some(tls) = &mut self.tls else {
            return self.write(bytes, incoming);
        };
        self.sealed.clear();
        tls.seal(bytes, &mut self.sealed)?;
        match self.write_sealed(incoming) {
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

    pub(super) fn write_sealed(&mut self, incoming: &mut BytesMut) -> Result<(), Failure> {
        let sealed = std::mem::take(&mut self.sealed);
        let sent = self.write(&sealed, incoming);
        self.sealed = sealed;
        sent
    }

    fn write(&mut self, mut bytes: &[u8], incoming: &mut BytesMut) -> Result<(), Failure> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        while !bytes.is_empty() {
            match nix::sys::socket::send(self.fd().as_raw_fd(), bytes, flags) {
                Ok(0) => return Err(ended()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => self.make_room(incoming)?,
                Err(error) => return Err(failure(&error.into())),
            }
        }
        Ok(())
    }

    /// Waits until the kernel takes more, or takes what has come meanwhile.
    fn make_room(&mut self, incoming: &mut BytesMut) -> Result<(), Failure> {
        // Some of the limit is spent; the next read waits for what is left.
        self.fresh = false;
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        if incoming.len() > MAX_EARLY_BYTES {
            let message = "64 MiB of answers before the question was taken";
            return Err(Failure::fatal(Outcome::Protocol, message));
        }
        let mut fds = [PollFd::new(
            self.fd(),
            PollFlags::POLLIN | PollFlags::POLLOUT,
        )];
        // Rounded up, or it would be called again and again in the last millisecond.
        let timeout = left + Duration::from_millis(1);
        let polled = poll(
            &mut fds,
            PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX),
        );
        let came = fds[0]
            .revents()
            .is_some_and(|events| events.contains(PollFlags::POLLIN));
        match polled {
            Ok(_) if came => {
                let received = self.read()?;
                self.open(received, incoming)
            }
            // An error of the connection is told by the next write.
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(failure(&error.into())),
        }
    }
}

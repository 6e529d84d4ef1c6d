//! Messages over the wire: built into one buffer and sent by one write, parsed one by one with the time they arrived.

use std::fmt::Display;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{ErrorResponseBody, Message, ParameterStatusBody};
use postgres_protocol::message::frontend;

use crate::engine::{Failure, Outcome};
use crate::engines::sqlstate;
use crate::engines::wire::Wire;

/// The longest message taken. The protocol allows 2 GiB, and what claims to be longer than this is either no answer
/// to a probe's query or no PostgreSQL at all.
const MAX_MESSAGE_BYTES: u32 = 64 * 1024 * 1024;

/// How much of a server's error is kept: more than any that PostgreSQL writes itself, and a line that a log can take.
const MAX_ERROR_CHARS: usize = 1000;

/// Both directions of a connection.
pub(super) struct Conversation {
    wire: Wire,
    incoming: BytesMut,
    outgoing: BytesMut,
    arrived: Instant,
}

/// How a reply ended that is complete: up to ReadyForQuery.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    /// When the first row arrived.
    pub(super) first_row: Option<Instant>,
    /// When the last row arrived.
    pub(super) last_row: Option<Instant>,
    /// Whether the first column of the first row is not NULL.
    pub(super) found: bool,
    /// How many statements were executed.
    pub(super) completed: u32,
}

impl Conversation {
    pub(super) fn new(wire: Wire) -> Self {
        Conversation {
            wire,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            arrived: Instant::now(),
        }
    }

    /// The connection it goes over.
    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Gives what follows `limit` of time in all.
    pub(super) fn begin(&mut self, limit: Duration) -> Result<(), Failure> {
        self.wire.begin(limit)
    }

    /// Adds a message to what is sent next.
    pub(super) fn build<E: Display>(
        &mut self,
        message: impl FnOnce(&mut BytesMut) -> Result<(), E>,
    ) -> Result<(), Failure> {
        message(&mut self.outgoing).map_err(|error| protocol(error.to_string()))
    }

    /// Takes what has come since the last reply: what a server may say at any time is passed over. Anything else would be
    /// taken for the answer to the next query, and every one after it for the answer to the one before.
    pub(super) fn catch_up(&mut self) -> Result<(), Failure> {
        while let Some(message) = self.parse()? {
            match message {
                Message::ParameterStatus(_)
                | Message::NoticeResponse(_)
                | Message::NotificationResponse(_) => {}
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                _ => return Err(protocol("an answer to no query")),
            }
        }
        Ok(())
    }

    /// Sends what was built.
    pub(super) fn send(&mut self) -> Result<(), Failure> {
        let before = self.incoming.len();
        let sent = self.wire.send(&self.outgoing, &mut self.incoming);
        self.outgoing.clear();
        if self.incoming.len() > before {
            self.arrived = Instant::now();
        }
        sent
    }

    /// The next message; [`Conversation::arrived`] is when its last byte was here.
    pub(super) fn next(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(message) = self.parse()? {
                return Ok(message);
            }
            self.wire.receive(&mut self.incoming)?;
            self.arrived = Instant::now();
        }
    }

    /// The next message, if all of it is here.
    fn parse(&mut self) -> Result<Option<Message>, Failure> {
        if let Some(header) = self.incoming.first_chunk::<5>() {
            let [_, length @ ..] = *header;
            if u32::from_be_bytes(length) > MAX_MESSAGE_BYTES {
                return Err(protocol("a message longer than 64 MiB"));
            }
        }
        Message::parse(&mut self.incoming).map_err(|error| protocol(error.to_string()))
    }

    /// When the bytes of the last message were in user space.
    pub(super) fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Reads from the end of the authentication to the first ReadyForQuery, and returns the server's version.
    pub(super) fn until_ready_for_the_first_time(&mut self) -> Result<String, Failure> {
        let mut version = String::new();
        loop {
            match self.next()? {
                Message::ReadyForQuery(_) => return Ok(version),
                Message::ParameterStatus(status) => read_version(&status, &mut version)?,
                Message::BackendKeyData(_) | Message::NoticeResponse(_) => {}
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                _ => return Err(protocol("an unexpected message after the authentication")),
            }
        }
    }

    /// Reads a reply to its ReadyForQuery, which is what makes it complete: an error before it is the server's answer,
    /// and the session goes on.
    pub(super) fn reply(&mut self) -> Result<Reply, Failure> {
        let mut reply = Reply::default();
        let mut refused = None;
        let mut complete = false;
        loop {
            match self.next()? {
                Message::DataRow(row) => {
                    if reply.first_row.is_none() {
                        reply.first_row = Some(self.arrived);
                        let first = row.ranges().next();
                        reply.found = matches!(first, Ok(Some(Some(_))));
                    }
                    reply.last_row = Some(self.arrived);
                }
                Message::CommandComplete(_) | Message::EmptyQueryResponse => {
                    reply.completed += 1;
                    complete = true;
                }
                Message::ParseComplete => complete = true,
                Message::ReadyForQuery(_) => {
                    return match refused {
                        Some(failure) => Err(Failure {
                            usable: true,
                            ..failure
                        }),
                        None if complete => Ok(reply),
                        None => Err(protocol(
                            "ready for a query before the last one was answered",
                        )),
                    };
                }
                Message::ErrorResponse(body) => {
                    let (failure, fatal) = read_error(&body);
                    if fatal {
                        return Err(failure);
                    }
                    refused.get_or_insert(failure);
                }
                Message::BindComplete
                | Message::NoData
                | Message::RowDescription(_)
                | Message::ParameterStatus(_)
                | Message::NoticeResponse(_)
                | Message::NotificationResponse(_) => {}
                _ => return Err(protocol("an unexpected message in a reply")),
            }
        }
    }
}

impl Drop for Conversation {
    /// Says good-bye, so that the server ends the session at once and logs no lost connection.
    fn drop(&mut self) {
        let mut farewell = BytesMut::new();
        frontend::terminate(&mut farewell);
        // Five bytes into a socket's buffer; where that has no room the connection is hung and closing it is enough.
        if self.wire.begin(Duration::from_millis(1)).is_ok() {
            let _ = self.wire.send(&farewell, &mut self.incoming);
        }
    }
}

fn read_version(status: &ParameterStatusBody, version: &mut String) -> Result<(), Failure> {
    let text = |part: std::io::Result<&str>| {
        part.map(str::to_owned)
            .map_err(|error| protocol(error.to_string()))
    };
    if text(status.name())? == "server_version" {
        *version = text(status.value())?;
    }
    Ok(())
}

/// A reply that is not what the protocol allows.
pub(super) fn protocol(message: impl Into<String>) -> Failure {
    Failure::fatal(Outcome::Protocol, message)
}

/// An error after which the session is over.
pub(super) fn refusal(body: &ErrorResponseBody) -> Failure {
    read_error(body).0
}

/// The failure an ErrorResponse stands for, and whether it ends the session.
fn read_error(body: &ErrorResponseBody) -> (Failure, bool) {
    let (mut severity, mut code, mut message) = (String::new(), String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes());
        let value: String = value.chars().take(MAX_ERROR_CHARS).collect();
        match field.type_() {
            // The severity that is never translated; servers before 9.6 have only `S`.
            b'V' => severity = value,
            b'S' if severity.is_empty() => severity = value,
            b'C' => code = value,
            b'M' => message = value,
            _ => {}
        }
    }
    let fatal = matches!(severity.as_str(), "FATAL" | "PANIC");
    let failure = Failure::fatal(sqlstate::outcome(&code), format!("{message} ({code})"));
    (failure, fatal)
}

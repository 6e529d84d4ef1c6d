//! Packets over the wire: a command is sent by one write, packets are taken one by one with the time they arrived.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::errors;
use crate::engine::{Failure, Outcome};
use crate::engines::tls;
use crate::engines::wire::Wire;

/// The longest payload of one packet; a longer one goes on in the next, and is told by this very length.
const MAX_PACKET_BYTES: usize = 0xff_ffff;

/// The longest payload taken. What claims to be longer is no answer to a probe's query.
pub(super) const MAX_PAYLOAD_BYTES: u32 = 64 * 1024 * 1024;

const HEADER_BYTES: usize = 4;

/// The command that ends a session.
const QUIT: u8 = 0x01;

/// Both directions of a connection.
pub(super) struct Conversation {
    wire: Wire,
    incoming: BytesMut,
    outgoing: Vec<u8>,
    /// The number the next packet has, in either direction; each command begins anew.
    sequence: u8,
    arrived: Instant,
    /// Whether the server takes commands, and so a good-bye.
    greeted: bool,
}

impl Conversation {
    pub(super) fn new(wire: Wire) -> Self {
        Conversation {
            wire,
            incoming: BytesMut::new(),
            outgoing: Vec::new(),
            sequence: 0,
            arrived: Instant::now(),
            greeted: false,
        }
    }

    pub(super) fn transport(&self) -> &'static str {
        self.wire.transport()
    }

    pub(super) fn tls(&self) -> &'static str {
        self.wire.tls()
    }

    /// Gives what follows `limit` of time in all.
    pub(super) fn begin(&mut self, limit: Duration) -> Result<(), Failure> {
        self.wire.begin(limit)
    }

    /// Puts a command together, to be sent next.
    pub(super) fn command(&mut self, code: u8, body: &[u8]) {
        self.sequence = 0;
        self.greeted = true;
        self.frame(&[&[code], body]);
    }

    /// Sends `payload` as the next packet of the exchange that goes on.
    pub(super) fn answer(&mut self, payload: &[u8]) -> Result<(), Failure> {
        self.frame(&[payload]);
        self.send()
    }

    /// Sends what was put together.
    pub(super) fn send(&mut self) -> Result<(), Failure> {
        let before = self.incoming.len();
        let sent = self.wire.send(&self.outgoing, &mut self.incoming);
        if self.incoming.len() > before {
            self.arrived = Instant::now();
        }
        sent
    }

    fn frame(&mut self, parts: &[&[u8]]) {
        let payload = parts.concat();
        self.outgoing.clear();
        let mut rest = &payload[..];
        loop {
            let (packet, after) = rest.split_at(rest.len().min(MAX_PACKET_BYTES));
            let [low, middle, high, ..] = packet.len().to_le_bytes();
            self.outgoing.extend([low, middle, high, self.sequence]);
            self.outgoing.extend_from_slice(packet);
            self.sequence = self.sequence.wrapping_add(1);
            rest = after;
            if packet.len() < MAX_PACKET_BYTES {
                return;
            }
        }
    }

    /// Goes on under TLS. Nothing may have come before: it would be taken for the server's own words afterwards.
    pub(super) fn encrypt(&mut self, session: tls::Session) -> Result<(), Failure> {
        if !self.incoming.is_empty() {
            return Err(Failure::fatal(
                Outcome::Tls,
                "more than a greeting came before the handshake: somebody between may have put it there",
            ));
        }
        self.wire.encrypt(session, &mut self.incoming)
    }

    /// The next payload, put together from as many packets as it takes.
    pub(super) fn next(&mut self) -> Result<Bytes, Failure> {
        let first = self.packet()?;
        if first.len() < MAX_PACKET_BYTES {
            return Ok(first);
        }
        let mut payload = BytesMut::from(first);
        loop {
            let more = self.packet()?;
            if payload.len() + more.len() > MAX_PAYLOAD_BYTES as usize {
                return Err(protocol("an answer with a part longer than 64 MiB"));
            }
            payload.extend_from_slice(&more);
            if more.len() < MAX_PACKET_BYTES {
                return Ok(payload.freeze());
            }
        }
    }

    fn packet(&mut self) -> Result<Bytes, Failure> {
        loop {
            if let [low, middle, high, sequence, rest @ ..] = &self.incoming[..] {
                let length = u32::from_le_bytes([*low, *middle, *high, 0]) as usize;
                // An error may come unasked, when the server ends an idle session, and then has a number of its own.
                let unasked = rest.first() == Some(&0xff);
                if *sequence != self.sequence && !rest.is_empty() && !unasked {
                    return Err(protocol("a packet out of its order"));
                }
                if rest.len() >= length {
                    self.sequence = sequence.wrapping_add(1);
                    let mut packet = self.incoming.split_to(HEADER_BYTES + length);
                    return Ok(packet.split_off(HEADER_BYTES).freeze());
                }
            }
            self.wire.receive(&mut self.incoming)?;
            self.arrived = Instant::now();
        }
    }

    /// The next payload with its first byte apart, where that is no error.
    pub(super) fn unless_refused(&mut self) -> Result<(u8, Bytes), Failure> {
        let mut payload = self.next()?;
        if payload.is_empty() {
            return Err(protocol("an empty packet"));
        }
        match payload.split_to(1)[0] {
            0xff => Err(errors::refusal(&payload)),
            first => Ok((first, payload)),
        }
    }

    /// When the bytes of the last packet were in user space.
    pub(super) fn arrived(&self) -> Instant {
        self.arrived
    }
}

impl Drop for Conversation {
    /// Says good-bye, so that the server ends the session at once and counts no aborted client.
    fn drop(&mut self) {
        // Where the socket has no room for five bytes the connection is hung, and closing it is enough.
        if self.greeted && self.wire.begin(Duration::from_millis(1)).is_ok() {
            self.command(QUIT, &[]);
            let _ = self.send();
        }
    }
}

/// A reply that is not what the protocol allows.
pub(super) fn protocol(message: impl Into<String>) -> Failure {
    Failure::fatal(Outcome::Protocol, message)
}

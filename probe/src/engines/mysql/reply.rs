//! A reply to a command: one result or several, each with rows or without, up to the one that says it is the last.
//!
//! Source: "Text Resultset", "Binary Protocol Resultset", "OK_Packet", "EOF_Packet". Warnings are counted in them and
//! left where they are: to read them would be a query of its own.

use std::time::Instant;

use super::conversation::{Conversation, protocol};
use super::errors;
use super::packet::Reader;
use crate::engine::Failure;

/// More columns than a table can have.
const MAX_COLUMNS: u64 = 4096;

/// The end of rows is shorter than this; a row that begins with the same byte is longer.
const MAX_END_BYTES: usize = 0xff_ffff - 1;

/// The server has another result after this one.
const MORE_RESULTS: u16 = 0x0008;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Each column with its length, as a query by text gets them.
    Text,
    /// As a prepared statement gets them.
    Binary,
}

/// How a reply ended that is complete.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    /// When the first row arrived.
    pub(super) first_row: Option<Instant>,
    /// When the last row arrived.
    pub(super) last_row: Option<Instant>,
    /// Whether the first column of the first row is not NULL; known of text only.
    pub(super) found: bool,
}

/// Reads a reply to its end. An error in it is its end too, and the session goes on.
pub(super) fn read(
    server: &mut Conversation,
    form: Form,
    deprecate_eof: bool,
) -> Result<Reply, Failure> {
    let mut reply = Reply::default();
    loop {
        let head = server.next()?;
        let more = match &head[..] {
            [] => return Err(protocol("an empty packet")),
            [0x00, ok @ ..] => status_of_ok(ok)? & MORE_RESULTS != 0,
            [0xff, error @ ..] => return Err(errors::read(error)),
            // Not asked for: whoever asks wants to read a file of ours.
            [0xfb, ..] => {
                return Err(protocol(
                    "the server asks for a local file, which it is not given",
                ));
            }
            counted => {
                let mut reader = Reader(counted);
                let columns = reader.integer()?;
                if columns > MAX_COLUMNS || !reader.0.is_empty() {
                    return Err(protocol("a result with more columns than a table can have"));
                }
                definitions(server, columns, deprecate_eof)?;
                rows(server, columns, form, deprecate_eof, &mut reply)? & MORE_RESULTS != 0
            }
        };
        if !more {
            return Ok(reply);
        }
    }
}

/// Reads past the definitions of `count` columns or parameters.
pub(super) fn definitions(
    server: &mut Conversation,
    count: u64,
    deprecate_eof: bool,
) -> Result<(), Failure> {
    for _ in 0..count {
        // Each begins with the name of its catalogue, `def`.
        match &server.next()?[..] {
            [0xff, error @ ..] => return Err(errors::read(error)),
            [0x03, ..] => {}
            _ => return Err(protocol("a column without a definition")),
        }
    }
    if count > 0 && !deprecate_eof {
        match &server.next()?[..] {
            [0xfe, _, _, _, _] => {}
            _ => return Err(protocol("definitions of columns without an end")),
        }
    }
    Ok(())
}

/// Reads rows to their end, whose status is returned.
fn rows(
    server: &mut Conversation,
    columns: u64,
    form: Form,
    deprecate_eof: bool,
    reply: &mut Reply,
) -> Result<u16, Failure> {
    loop {
        let packet = server.next()?;
        let found = match (&packet[..], form) {
            ([0xff, error @ ..], _) => return Err(errors::read(error)),
            ([0xfe, end @ ..], _) if end.len() < MAX_END_BYTES => {
                return if deprecate_eof {
                    status_of_ok(end)
                } else {
                    status_of_eof(end)
                };
            }
            (row, Form::Text) => first_is_there(row, columns)?,
            ([0x00, ..], Form::Binary) => false,
            _ => return Err(protocol("a row that does not begin as one")),
        };
        if reply.first_row.is_none() {
            reply.first_row = Some(server.arrived());
            reply.found = found;
        }
        reply.last_row = Some(server.arrived());
    }
}

/// Whether the first column is not NULL, of a row that holds all its columns and nothing else.
fn first_is_there(row: &[u8], columns: u64) -> Result<bool, Failure> {
    let mut reader = Reader(row);
    let first = reader.column()?.is_some();
    for _ in 1..columns {
        reader.column()?;
    }
    if reader.0.is_empty() {
        Ok(first)
    } else {
        Err(protocol("a row of more columns than its result has"))
    }
}

/// The status in an OK packet behind its first byte: rows changed, the last key made, the status.
fn status_of_ok(packet: &[u8]) -> Result<u16, Failure> {
    let mut reader = Reader(packet);
    reader.integer()?;
    reader.integer()?;
    reader.u16()
}

/// The status in an EOF packet behind its first byte: the count of warnings, the status.
fn status_of_eof(packet: &[u8]) -> Result<u16, Failure> {
    let mut reader = Reader(packet);
    reader.u16()?;
    reader.u16()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_all_its_columns_and_nothing_else() {
        assert!(first_is_there(b"\x011", 1).unwrap());
        assert!(!first_is_there(b"\xfb\x011", 2).unwrap());
        assert!(first_is_there(b"\x00", 1).unwrap());
        for (row, columns) in [
            (&b"\x011"[..], 2),
            (b"\x011\x011", 1),
            (b"\x05x", 1),
            (b"", 1),
        ] {
            assert!(first_is_there(row, columns).is_err(), "{row:?}");
        }
    }

    #[test]
    fn the_status_says_whether_more_comes() {
        assert_eq!(status_of_ok(b"\0\0\x0a\0\0\0").unwrap(), 0x0a);
        assert_eq!(status_of_ok(b"\xfc\x00\x01\0\x02\0\0\0").unwrap(), 2);
        assert_eq!(status_of_eof(b"\0\0\x08\0").unwrap(), 8);
        for cut in [&b""[..], b"\0", b"\0\0\x0a"] {
            assert!(status_of_ok(cut).is_err());
            assert!(status_of_eof(cut).is_err());
        }
    }
}

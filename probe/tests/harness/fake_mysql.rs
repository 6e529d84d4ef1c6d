//! A server of MySQL's protocol that does what a test says.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use probe::config::{self, Config};
use probe::engine::{Failure, Timings};

pub(crate) use super::listener::{connect, listen};

/// The challenge of every greeting here.
pub(crate) const CHALLENGE: &[u8; 20] = b"abcdefghijklmnopqrst";

/// A server that treats each connection as `behave` says; the configuration of a target on it with further lines.
pub(crate) fn server(target: &str, behave: impl Fn(TcpStream) + Send + Sync + 'static) -> Config {
    let address = listen(behave);
    let text = format!(
        "targets:\n  - name: t\n    engine: mysql\n    address: {address}\n    user: u\n    node: n\n    \
         timeout: {{connect: 1s, query: 1500ms}}\n    workloads: [w]\n{target}\
         workloads:\n  - name: w\n    query: SELECT 1\n    pattern: {{every: 10ms}}\n"
    );
    config::parse(Path::new("probe.yaml"), &text).unwrap()
}

/// The end of one query against a server that answers it with `answer`.
pub(crate) fn query(
    answer: impl Fn(&mut TcpStream) + Send + Sync + 'static,
) -> Result<Timings, Failure> {
    let config = server("", move |mut stream| {
        handshake(&mut stream);
        while read(&mut stream).is_some_and(|command| command[0] != 1) {
            answer(&mut stream);
        }
    });
    connect(&config).0.unwrap().execute(&[])
}

pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, ..] = payload.len().to_le_bytes();
    [&[low, middle, high, sequence], payload].concat()
}

/// What the server of version 8.4 says first, with the way it asks for passwords.
pub(crate) fn greeting(plugin: &str) -> Vec<u8> {
    let payload = [
        &b"\x0a8.4.3\0\x05\0\0\0"[..],
        &CHALLENGE[..8],
        // Everything but TLS, of which no EOF is the newest.
        &[0, 0xff, 0xf7, 255, 2, 0, 0xff, 0xdf, 21],
        &[0; 10],
        &CHALLENGE[8..],
        b"\0",
        plugin.as_bytes(),
        b"\0",
    ]
    .concat();
    packet(0, &payload)
}

pub(crate) fn ok(sequence: u8) -> Vec<u8> {
    packet(sequence, b"\0\0\0\x02\0\0\0")
}

pub(crate) fn error(sequence: u8, code: u16, text: &str) -> Vec<u8> {
    packet(
        sequence,
        &[&[0xff], &code.to_le_bytes()[..], b"#HY000", text.as_bytes()].concat(),
    )
}

pub(crate) fn definition(sequence: u8) -> Vec<u8> {
    packet(
        sequence,
        b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0",
    )
}

/// A row of an execution: its head, no NULL, eight bytes.
pub(crate) fn row(sequence: u8) -> Vec<u8> {
    packet(sequence, b"\0\0\x01\0\0\0\0\0\0\0")
}

/// The end of rows, with a status.
pub(crate) fn end(sequence: u8, status: u8) -> Vec<u8> {
    packet(sequence, &[0xfe, 0, 0, status, 0, 0, 0])
}

pub(crate) fn whole_answer() -> Vec<u8> {
    [packet(1, &[1]), definition(2), row(3), end(4, 2)].concat()
}

/// Lets the client in and prepares its statement.
pub(crate) fn handshake(stream: &mut TcpStream) {
    stream
        .write_all(&greeting("mysql_native_password"))
        .unwrap();
    read(stream).unwrap();
    stream.write_all(&ok(2)).unwrap();
    prepare(stream);
}

/// Prepares the client's statement: number 1, one column, no parameters.
pub(crate) fn prepare(stream: &mut TcpStream) {
    if read(stream).is_some_and(|command| command[0] == 0x16) {
        let head = packet(1, b"\0\x01\0\0\0\x01\0\0\0\0\0\0");
        stream.write_all(&[head, definition(2)].concat()).unwrap();
    }
}

/// The next payload of the client; `None` at the end of the connection.
pub(crate) fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let [low, middle, high, _] = header;
    let mut payload = vec![0; u32::from_le_bytes([low, middle, high, 0]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

/// Keeps a connection open until the client goes.
pub(crate) fn hold(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

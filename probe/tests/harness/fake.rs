//! A server of PostgreSQL's protocol that does what a test says.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use probe::config::{self, Config};
use probe::engine::{Failure, Timings};

pub(crate) use super::listener::{connect, listen};

/// A server that treats each connection as `behave` says; the configuration of a target on it.
pub(crate) fn server(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> Config {
    server_with("", behave)
}

/// The same, with further lines about the target.
pub(crate) fn server_with(
    target: &str,
    behave: impl Fn(TcpStream) + Send + Sync + 'static,
) -> Config {
    let address = listen(behave);
    let text = format!(
        "targets:\n  - name: t\n    engine: postgres\n    address: {address}\n    user: u\n    node: n\n    \
         timeout: {{connect: 300ms, query: 1500ms}}\n    workloads: [w]\n{target}\
         workloads:\n  - name: w\n    query: SELECT 1\n    pattern: {{every: 10ms}}\n"
    );
    config::parse(Path::new("probe.yaml"), &text).unwrap()
}

/// The end of one query against a server that answers it with `answer`.
pub(crate) fn query(
    answer: impl Fn(&mut TcpStream) + Send + Sync + 'static,
) -> Result<Timings, Failure> {
    let config = server(move |mut stream| {
        handshake(&mut stream);
        while read_to_sync(&mut stream) {
            answer(&mut stream);
        }
    });
    connect(&config).0.unwrap().execute(&[])
}

pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

pub(crate) fn row() -> Vec<u8> {
    message(b'D', &[0, 1, 0, 0, 0, 1, b'1'])
}

pub(crate) fn complete() -> Vec<u8> {
    message(b'C', b"SELECT 1\0")
}

pub(crate) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

pub(crate) fn whole_answer() -> Vec<u8> {
    [message(b'2', b""), row(), complete(), ready()].concat()
}

/// Lets the client in and prepares its statement.
pub(crate) fn handshake(stream: &mut (impl Read + Write)) {
    read_startup(stream);
    let version = message(b'S', b"server_version\x0015.0\0");
    let welcome = [message(b'R', &[0; 4]), version, ready()].concat();
    stream.write_all(&welcome).unwrap();
    if read_to_sync(stream) {
        stream
            .write_all(&[message(b'1', b""), ready()].concat())
            .unwrap();
    }
}

/// Reads the first message of a connection: its body.
pub(crate) fn read_startup(stream: &mut impl Read) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut rest).unwrap();
    rest
}

/// Reads messages up to a Sync; `false` at the end of the connection.
pub(crate) fn read_to_sync(stream: &mut impl Read) -> bool {
    loop {
        let mut header = [0; 5];
        if stream.read_exact(&mut header).is_err() {
            return false;
        }
        let [tag, length @ ..] = header;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        if stream.read_exact(&mut body).is_err() || tag == b'X' {
            return false;
        }
        if tag == b'S' {
            return true;
        }
    }
}

/// Keeps a connection open until the client goes.
pub(crate) fn hold(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

//! How a connection to PostgreSQL becomes an encrypted one: SSLRequest, one byte, and the handshake.
//!
//! Source: "Frontend/Backend Protocol", SSL Session Encryption. There is no way back to plaintext from here: a server
//! that takes no TLS is a failure of its own, whatever somebody between answers.

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::conversation::protocol;
use crate::engine::{Failure, Outcome};
use crate::engines::tls::Client;
use crate::engines::wire::Wire;

/// Encrypts `wire`, or says why not.
pub(super) fn encrypt(wire: &mut Wire, client: &Client) -> Result<(), Failure> {
    let session = client.session()?;
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let mut answer = BytesMut::new();
    wire.send(&request, &mut answer)?;
    wire.receive(&mut answer)?;
    let refused = |message| Err(Failure::fatal(Outcome::Tls, message));
    match &answer[..] {
        b"S" => wire.encrypt(session, &mut answer),
        // The client speaks first in TLS. What comes before would be taken for the server's first words after the
        // handshake: CVE-2021-23222.
        [b'S', ..] => refused(
            "more than an agreement came before the handshake: somebody between may have put it there",
        ),
        b"N" => refused(
            "the server takes no TLS connections: set `ssl = on` there, or `tls: {mode: disable}` here",
        ),
        // An error's text comes from whoever is there, which is not known yet: CVE-2024-10977.
        [b'E', ..] => refused("the server answered the request for TLS with an error"),
        _ => Err(protocol(
            "an answer to the request for TLS that is neither yes nor no",
        )),
    }
}

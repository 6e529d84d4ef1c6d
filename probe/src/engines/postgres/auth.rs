//! The authentication exchange: trust, cleartext password, MD5, SCRAM-SHA-256.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use toolkit::config::Secret;

use super::conversation::{Conversation, protocol, refusal};
use crate::engine::{Failure, Outcome};

/// The most iterations of SCRAM: about a second. PostgreSQL makes passwords with 4096.
const MAX_ITERATIONS: u32 = 1_000_000;

/// Who we say we are.
pub(super) struct Credentials<'c> {
    pub(super) user: &'c str,
    pub(super) password: Option<&'c Secret>,
    /// Whether what is sent stays on this host.
    pub(super) local: bool,
}

impl Credentials<'_> {
    fn password(&self) -> Result<&[u8], Failure> {
        self.password
            .map(|password| password.reveal().as_bytes())
            .ok_or_else(|| {
                refused("the server asks for a password; give password_file or password_env")
            })
    }
}

/// Sends what was built and answers the server's questions until it is satisfied.
///
/// A password in cleartext is sent only where it stays on this host: whoever reads it on the way could use it.
pub(super) fn authenticate(
    server: &mut Conversation,
    credentials: &Credentials<'_>,
) -> Result<(), Failure> {
    server.send()?;
    loop {
        match server.next()? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationMd5Password(body) => {
                let user = credentials.user.as_bytes();
                let hash = md5_hash(user, credentials.password()?, body.salt());
                answer(server, hash.as_bytes())?;
            }
            Message::AuthenticationCleartextPassword if credentials.local => {
                let password = credentials.password()?;
                answer(server, password)?;
            }
            Message::AuthenticationCleartextPassword => {
                return Err(refused(
                    "the server asks for the password in cleartext over a plaintext connection; \
                     let it use scram-sha-256 in pg_hba.conf",
                ));
            }
            Message::AuthenticationSasl(body) => scram(server, &body, credentials.password()?)?,
            Message::ErrorResponse(body) => return Err(refusal(&body)),
            Message::NoticeResponse(_) => {}
            Message::AuthenticationGss
            | Message::AuthenticationSspi
            | Message::AuthenticationKerberosV5
            | Message::AuthenticationScmCredential => {
                return Err(refused(
                    "the server asks for an authentication other than trust, password, md5 or scram-sha-256",
                ));
            }
            _ => return Err(protocol("an unexpected message in the authentication")),
        }
    }
}

fn answer(server: &mut Conversation, password: &[u8]) -> Result<(), Failure> {
    server.build(|out| frontend::password_message(password, out))?;
    server.send()
}

/// SCRAM-SHA-256 (RFC 5802, 7677), without channel binding since there is no TLS to bind to. The server proves that it
/// knows the password too.
fn scram(
    server: &mut Conversation,
    offer: &AuthenticationSaslBody,
    password: &[u8],
) -> Result<(), Failure> {
    let offered = offer.mechanisms().any(|name| Ok(name == SCRAM_SHA_256));
    if !matches!(offered, Ok(true)) {
        return Err(refused("the server offers no scram-sha-256 without TLS"));
    }
    let mut exchange = ScramSha256::new(password, ChannelBinding::unsupported());
    let first = |out: &mut BytesMut| {
        frontend::sasl_initial_response(SCRAM_SHA_256, exchange.message(), out)
    };
    server.build(first)?;
    server.send()?;
    match server.next()? {
        Message::AuthenticationSaslContinue(body) => {
            affordable(body.data())?;
            exchange
                .update(body.data())
                .map_err(|error| protocol(error.to_string()))?;
        }
        Message::ErrorResponse(body) => return Err(refusal(&body)),
        _ => return Err(protocol("an unexpected message in SCRAM")),
    }
    server.build(|out| frontend::sasl_response(exchange.message(), out))?;
    server.send()?;
    match server.next()? {
        Message::AuthenticationSaslFinal(body) => exchange
            .finish(body.data())
            .map_err(|_| refused("the server does not prove that it knows the password")),
        Message::ErrorResponse(body) => Err(refusal(&body)),
        _ => Err(protocol("an unexpected message in SCRAM")),
    }
}

/// Refuses a number of iterations (`i=` of the server's first message) that would keep a lane busy far beyond its
/// deadline: it is computed in one go, and the protocol allows it to take hours.
fn affordable(first: &[u8]) -> Result<(), Failure> {
    let iterations = first
        .split(|byte| *byte == b',')
        .find_map(|part| part.strip_prefix(b"i="));
    let number = iterations.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    match number {
        Some(1..=MAX_ITERATIONS) => Ok(()),
        Some(iterations) => Err(refused(&format!(
            "the server asks for {iterations} iterations of SCRAM, and 1 to {MAX_ITERATIONS} are made; \
             see scram_iterations in postgresql.conf"
        ))),
        None => Err(protocol("SCRAM without a number of iterations")),
    }
}

fn refused(message: &str) -> Failure {
    Failure::fatal(Outcome::Auth, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::wire::Wire;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    /// How a server's question for the cleartext password ends, and what it was told.
    fn cleartext(local: bool) -> (Result<(), Failure>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut peer = listener.accept().unwrap().0;
            peer.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
            peer.write_all(b"R\0\0\0\x08\0\0\0\0").unwrap();
            let mut told = Vec::new();
            peer.read_to_end(&mut told).unwrap();
            told
        });
        let limit = Duration::from_secs(5);
        let wire = Wire::tcp(&[address], Instant::now() + limit).unwrap();
        let mut conversation = Conversation::new(wire);
        conversation.begin(limit).unwrap();
        let password = Secret::new("canary".to_owned());
        let credentials = Credentials {
            user: "u",
            password: Some(&password),
            local,
        };
        let outcome = authenticate(&mut conversation, &credentials);
        drop(conversation);
        (outcome, server.join().unwrap())
    }

    #[test]
    fn a_cleartext_password_does_not_leave_this_host() {
        let (outcome, told) = cleartext(true);
        assert_eq!(outcome, Ok(()));
        assert!(told.windows(6).any(|bytes| bytes == b"canary"));
        let (outcome, told) = cleartext(false);
        let failure = outcome.unwrap_err();
        assert_eq!(failure.outcome, Outcome::Auth);
        assert!(failure.message.contains("scram-sha-256"), "{failure}");
        assert!(!told.windows(6).any(|bytes| bytes == b"canary"));
    }

    #[test]
    fn a_server_could_keep_a_lane_computing_for_hours() {
        assert_eq!(
            affordable(b"r=abc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
            Ok(())
        );
        let failure = affordable(b"r=abc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4294967295").unwrap_err();
        assert_eq!(failure.outcome, Outcome::Auth);
        assert!(failure.message.contains("scram_iterations"), "{failure}");
        for bad in [
            &b"r=abc,s=x"[..],
            b"r=abc,s=x,i=",
            b"r=abc,s=x,i=99999999999",
            b"",
        ] {
            assert_eq!(affordable(bad).unwrap_err().outcome, Outcome::Protocol);
        }
    }
}

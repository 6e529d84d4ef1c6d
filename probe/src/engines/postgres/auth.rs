//! The authentication exchange: trust, cleartext password, MD5; SCRAM has a file of its own.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use toolkit::config::Secret;

use super::conversation::{Conversation, protocol, refusal};
use super::scram;
use crate::config::ChannelBinding;
use crate::engine::{Failure, Outcome};

/// Who we say we are.
pub(super) struct Credentials<'c> {
    pub(super) user: &'c str,
    pub(super) password: Option<&'c Secret>,
    /// Whether what is sent is read by the server alone.
    pub(super) private: bool,
    pub(super) channel_binding: ChannelBinding,
}

impl Credentials<'_> {
    fn password(&self) -> Result<&[u8], Failure> {
        self.password
            .map(|password| password.reveal().as_bytes())
            .ok_or_else(|| {
                refused(
                    "the server asks for a password; give password_file, password_env or password_credential",
                )
            })
    }

    /// Refuses, where the channel has to be bound, a way `asked` by the server that does not bind it.
    fn unbound(&self, asked: &str) -> Result<(), Failure> {
        match self.channel_binding {
            ChannelBinding::Require => Err(refused(&format!(
                "channel_binding is required, and the server asks for {asked}; let it use scram-sha-256"
            ))),
            ChannelBinding::Disable | ChannelBinding::Prefer => Ok(()),
        }
    }
}

/// Sends what was built and answers the server's questions until it is satisfied.
///
/// A password in cleartext is sent only where nobody but the server reads it: whoever does could use it. Encryption
/// alone (`require`) is not enough, since it says nothing about who is at the other end.
pub(super) fn authenticate(
    server: &mut Conversation,
    credentials: &Credentials<'_>,
) -> Result<(), Failure> {
    server.send()?;
    let mut bound = false;
    loop {
        match server.next()? {
            Message::AuthenticationOk if bound => return Ok(()),
            Message::AuthenticationOk => return credentials.unbound("nothing more"),
            Message::AuthenticationMd5Password(body) => {
                credentials.unbound("an MD5 password")?;
                let user = credentials.user.as_bytes();
                let hash = md5_hash(user, credentials.password()?, body.salt());
                answer(server, hash.as_bytes())?;
            }
            Message::AuthenticationCleartextPassword => {
                credentials.unbound("the password in cleartext")?;
                if !credentials.private {
                    return Err(refused(
                        "the server asks for the password in cleartext, and anybody could read it; \
                         let it use scram-sha-256 in pg_hba.conf, or use TLS that verifies the server",
                    ));
                }
                answer(server, credentials.password()?)?;
            }
            Message::AuthenticationSasl(offer) => {
                let password = credentials.password()?;
                bound = scram::exchange(server, &offer, password, credentials.channel_binding)?;
            }
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

pub(super) fn refused(message: &str) -> Failure {
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
    fn cleartext(private: bool) -> (Result<(), Failure>, Vec<u8>) {
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
            private,
            channel_binding: ChannelBinding::Prefer,
        };
        let outcome = authenticate(&mut conversation, &credentials);
        drop(conversation);
        (outcome, server.join().unwrap())
    }

    #[test]
    fn a_cleartext_password_goes_only_where_nobody_else_reads_it() {
        let (outcome, told) = cleartext(true);
        assert_eq!(outcome, Ok(()));
        assert!(told.windows(6).any(|bytes| bytes == b"canary"));
        let (outcome, told) = cleartext(false);
        let failure = outcome.unwrap_err();
        assert_eq!(failure.outcome, Outcome::Auth);
        assert!(failure.message.contains("scram-sha-256"), "{failure}");
        assert!(!told.windows(6).any(|bytes| bytes == b"canary"));
    }
}

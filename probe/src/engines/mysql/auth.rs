//! The authentication exchange: mysql_native_password, caching_sha2_password, and MariaDB's client_ed25519.
//!
//! The server names a way in its greeting, and may switch to another one that the account asks for. In the ways above
//! the password itself is sent in one case only: caching_sha2_password on a server that has not seen it since its
//! start. Then it goes over a UNIX socket, over TLS to somebody known, or encrypted with the server's key.

use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::client_ed25519::ClientEd25519;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use mysql_common::auth::plugins::{ChallengeResponsePlugin as _, Context};
use mysql_common::constants::CapabilityFlags;
use toolkit::config::Secret;

use super::conversation::{Conversation, protocol};
use super::greeting::{self, Greeting, SCRAMBLE_BYTES};
use super::packet::Reader;
use super::public_key;
use crate::config::Server;
use crate::engine::{Failure, Outcome};

/// What caching_sha2_password's client asks for the server's key with, and what its server says.
const REQUEST_KEY: u8 = 2;
const KNOWN: u8 = 3;
const UNKNOWN: u8 = 4;

/// What the packets of the server begin with.
const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const SWITCH: u8 = 0xfe;

/// A way to authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Native,
    CachingSha2,
    Ed25519,
}

impl Way {
    fn named(plugin: &[u8]) -> Option<Self> {
        match plugin {
            b"mysql_native_password" => Some(Way::Native),
            b"caching_sha2_password" => Some(Way::CachingSha2),
            b"client_ed25519" => Some(Way::Ed25519),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Way::Native => "mysql_native_password",
            Way::CachingSha2 => "caching_sha2_password",
            Way::Ed25519 => "client_ed25519",
        }
    }

    /// What proves that we know the password.
    fn respond(self, password: &[u8], challenge: &[u8]) -> Result<Vec<u8>, Failure> {
        if self == Way::Ed25519 {
            let response = ClientEd25519::default().run(Given(password), challenge);
            let response = response.map_err(|error| protocol(error.to_string()))?;
            return Ok(response.data().unwrap_or_default().to_vec());
        }
        let scramble = challenge.first_chunk::<SCRAMBLE_BYTES>();
        let scramble = scramble.ok_or_else(|| protocol("a challenge that is too short"))?;
        Ok(match self {
            Way::CachingSha2 => scramble_sha256(scramble, password).map(Vec::from),
            _ => scramble_native(scramble, password).map(Vec::from),
        }
        .unwrap_or_default())
    }
}

/// What client_ed25519 needs of its surroundings: the password.
struct Given<'p>(&'p [u8]);

impl Context for Given<'_> {
    fn pass(&self) -> &[u8] {
        self.0
    }

    fn is_ipc_transport(&self) -> bool {
        false
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        &[]
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

/// Answers the greeting, and then the server's questions until it is satisfied. Without a password an empty one is
/// meant, which the server knows too.
pub(super) fn authenticate(
    server: &mut Conversation,
    greeting: &Greeting,
    target: &Server,
    password: Option<&Secret>,
) -> Result<(), Failure> {
    let password = password.map_or(&b""[..], |password| password.reveal().as_bytes());
    // For any other way the server switches, and says what it needs for it.
    let mut way = Way::named(&greeting.plugin).unwrap_or(Way::Native);
    let mut challenge = greeting.challenge.clone();
    let response = if way == Way::Ed25519 && challenge.len() != 32 {
        Vec::new()
    } else {
        way.respond(password, &challenge)?
    };
    server.answer(&introduction(server, greeting, target, way, &response))?;
    loop {
        let (first, rest) = server.unless_refused()?;
        match first {
            OK => return Ok(()),
            SWITCH => {
                (way, challenge) = switched(&rest)?;
                let response = way.respond(password, &challenge)?;
                server.answer(&response)?;
            }
            MORE if way == Way::CachingSha2 => match rest[..] {
                [KNOWN] => {}
                [UNKNOWN] => show_password(server, target, password, &challenge)?,
                _ => return Err(protocol("an unexpected step of caching_sha2_password")),
            },
            _ => return Err(protocol("an unexpected packet in the authentication")),
        }
    }
}

/// The answer to the greeting: who we are.
fn introduction(
    server: &Conversation,
    greeting: &Greeting,
    target: &Server,
    way: Way,
    response: &[u8],
) -> Vec<u8> {
    let mut capabilities = greeting.agreed();
    if target.database.is_some() {
        capabilities |= CapabilityFlags::CLIENT_CONNECT_WITH_DB;
    }
    if server.tls() != "none" {
        capabilities |= CapabilityFlags::CLIENT_SSL;
    }
    let mut out = greeting::head(capabilities);
    out.extend_from_slice(target.user.as_bytes());
    out.push(0);
    counted(response, &mut out);
    if let Some(database) = &target.database {
        out.extend_from_slice(database.as_bytes());
        out.push(0);
    }
    if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
        out.extend_from_slice(way.name().as_bytes());
        out.push(0);
    }
    if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
        let mut attributes = Vec::new();
        counted(b"program_name", &mut attributes);
        counted(b"wakelag-probe", &mut attributes);
        counted(&attributes, &mut out);
    }
    out
}

/// Appends `bytes` with their length before them, which fits in a byte for all that is written here.
fn counted(bytes: &[u8], out: &mut Vec<u8>) {
    debug_assert!(bytes.len() < 0xfb);
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// The way the server switches to, with its challenge.
fn switched(packet: &[u8]) -> Result<(Way, Vec<u8>), Failure> {
    if packet.is_empty() {
        return Err(refused(
            "the account has a password of before MySQL 4.1, which anybody who listens could use; set a new one",
        ));
    }
    let mut reader = Reader(packet);
    let plugin = reader.until_nul()?;
    let Some(way) = Way::named(plugin) else {
        let plugin: String = String::from_utf8_lossy(plugin).chars().take(64).collect();
        return Err(refused(format!(
            "the account authenticates by {plugin:?}; known are mysql_native_password, caching_sha2_password and \
             client_ed25519 (MariaDB's ed25519)"
        )));
    };
    let challenge = match way {
        Way::Ed25519 => reader.0,
        _ => reader.0.strip_suffix(&[0]).unwrap_or(reader.0),
    };
    Ok((way, challenge.to_vec()))
}

/// Shows the password to a server that has to see it once, where nobody else sees it.
fn show_password(
    server: &mut Conversation,
    target: &Server,
    password: &[u8],
    challenge: &[u8],
) -> Result<(), Failure> {
    let with_nul = [password, &[0]].concat();
    if server.transport() == "unix" {
        return server.answer(&with_nul);
    }
    if server.tls() != "none" {
        if target.is_private() {
            return server.answer(&with_nul);
        }
        return Err(refused(
            "the server has to see the password, and with `mode: require` nobody knows who it is; \
             write verify-ca or verify-full",
        ));
    }
    if !target.address.is_local() && !target.get_server_public_key {
        return Err(refused(
            "the server has to see the password, and without TLS only its own key could hide it, which somebody \
             between might replace; use `tls`, or allow that by `get_server_public_key: true`",
        ));
    }
    server.answer(&[REQUEST_KEY])?;
    let key = match server.unless_refused()? {
        (MORE, key) => key,
        _ => return Err(protocol("no key where one was asked for")),
    };
    let hidden = public_key::encrypt(&with_nul, challenge, &key)?;
    server.answer(&hidden)
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::fatal(Outcome::Auth, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_password_is_an_empty_response_and_a_short_challenge_an_error() {
        for way in [Way::Native, Way::CachingSha2] {
            assert!(way.respond(b"", &[1; 20]).unwrap().is_empty());
            assert!(!way.respond(b"x", &[1; 20]).unwrap().is_empty());
        }
        for way in [Way::Native, Way::CachingSha2, Way::Ed25519] {
            let short = way.respond(b"x", &[1; 19]).unwrap_err();
            assert_eq!(short.outcome, Outcome::Protocol);
            assert_eq!(Way::named(way.name().as_bytes()), Some(way));
        }
    }

    #[test]
    fn a_switch_names_a_way_or_says_why_not() {
        let (way, challenge) = switched(b"mysql_native_password\0abcdefghijklmnopqrst\0").unwrap();
        assert_eq!(
            (way, &challenge[..]),
            (Way::Native, &b"abcdefghijklmnopqrst"[..])
        );
        for (packet, part) in [
            (&b""[..], "before MySQL 4.1"),
            (b"mysql_clear_password\0", "\"mysql_clear_password\""),
            (b"\n\x1b[2J\0", "\"\\n\\u{1b}[2J\""),
        ] {
            let failure = switched(packet).unwrap_err();
            assert_eq!(failure.outcome, Outcome::Auth);
            assert!(failure.message.contains(part), "{failure}");
        }
        assert_eq!(switched(b"no end").unwrap_err().outcome, Outcome::Protocol);
    }
}

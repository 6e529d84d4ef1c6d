//! The server's first words, and the answer that asks for TLS.

use mysql_common::constants::CapabilityFlags;

use super::conversation::{Conversation, MAX_PAYLOAD_BYTES, protocol};
use super::packet::Reader;
use crate::engine::{Failure, Outcome};
use crate::engines::tls::Client;

/// The collation `utf8mb4_general_ci`, which every server since 5.5.3 knows.
pub(super) const UTF8MB4: u8 = 45;

/// How much of a challenge belongs to every plugin but MariaDB's own.
pub(super) const SCRAMBLE_BYTES: usize = 20;

/// What a MariaDB server puts before its version, because old replicas take only a single digit for the first.
const MARIADB_PREFIX: &str = "5.5.5-";

/// How a server introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    /// `mysql` or `mariadb`.
    pub(super) engine: &'static str,
    /// As `SELECT version()` would say.
    pub(super) version: String,
    /// What it is able to do.
    pub(super) capabilities: CapabilityFlags,
    /// How it asks for passwords where an account does not say otherwise.
    pub(super) plugin: Vec<u8>,
    /// What a password is scrambled with.
    pub(super) challenge: Vec<u8>,
}

impl Greeting {
    /// What both sides are able to do, for the session. Neither local files nor several statements in one text: those
    /// are what a server, and what a placeholder gone wrong, could do harm with.
    pub(super) fn agreed(&self) -> CapabilityFlags {
        let ours = CapabilityFlags::CLIENT_LONG_PASSWORD
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_CONNECT_ATTRS
            | CapabilityFlags::CLIENT_DEPRECATE_EOF;
        // MariaDB leaves the first one out to say that it is not MySQL.
        (ours & self.capabilities) | CapabilityFlags::CLIENT_LONG_PASSWORD
    }
}

/// Waits for the greeting.
pub(super) fn read(server: &mut Conversation) -> Result<Greeting, Failure> {
    let (version, rest) = server.unless_refused()?;
    if version != 10 {
        return Err(protocol(format!(
            "a greeting of version {version}, where MySQL's is 10"
        )));
    }
    parse(&rest)
}

/// Reads a greeting behind its first byte, the version of the protocol.
fn parse(packet: &[u8]) -> Result<Greeting, Failure> {
    let mut reader = Reader(packet);
    let version = String::from_utf8_lossy(reader.until_nul()?).into_owned();
    let _connection = reader.u32()?;
    let mut challenge = reader.take(8)?.to_vec();
    let _filler = reader.byte()?;
    let low = reader.u16()?;
    let (_collation, _status) = (reader.byte()?, reader.u16()?);
    let high = reader.u16()?;
    let capabilities = CapabilityFlags::from_bits_retain(u32::from(high) << 16 | u32::from(low));
    let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SECURE_CONNECTION;
    if !capabilities.contains(needed) {
        return Err(protocol("a server that speaks as MySQL did before 4.1"));
    }
    let length = usize::from(reader.byte()?);
    let _reserved = reader.take(10)?;
    // The second part is never told to be shorter than 13, of which the last is a NUL.
    let second = reader.take(length.saturating_sub(8).max(13))?;
    challenge.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
    let plugin = if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
        // Some servers leave the NUL out.
        reader.0.split(|byte| *byte == 0).next().unwrap_or_default()
    } else {
        b"mysql_native_password"
    };
    let maria = version.contains("MariaDB")
        || version.starts_with(MARIADB_PREFIX)
        || !capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
    Ok(Greeting {
        engine: if maria { "mariadb" } else { "mysql" },
        version: match version.strip_prefix(MARIADB_PREFIX) {
            Some(own) => own.to_owned(),
            None => version,
        },
        capabilities,
        plugin: plugin.to_vec(),
        challenge,
    })
}

/// Asks for TLS and shakes hands. There is no way back to plaintext: a server without TLS is a failure of its own.
pub(super) fn encrypt(
    server: &mut Conversation,
    greeting: &Greeting,
    client: &Client,
) -> Result<(), Failure> {
    if !greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL) {
        return Err(Failure::fatal(
            Outcome::Tls,
            "the server takes no TLS connections: give it `ssl_cert` and `ssl_key`, or say `tls: {mode: disable}` here",
        ));
    }
    let session = client.session()?;
    server.answer(&head(greeting.agreed() | CapabilityFlags::CLIENT_SSL))?;
    server.encrypt(session)
}

/// What the request for TLS is, and what the answer to the greeting begins with.
pub(super) fn head(capabilities: CapabilityFlags) -> Vec<u8> {
    let mut head = capabilities.bits().to_le_bytes().to_vec();
    head.extend(MAX_PAYLOAD_BYTES.to_le_bytes());
    head.push(UTF8MB4);
    head.extend([0; 23]);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11 greets, behind the first byte.
    fn mariadb() -> Vec<u8> {
        [
            &b"5.5.5-10.11.14-MariaDB-0+deb12u2\0"[..],
            &[5, 0, 0, 0],
            b"abcdefgh\0",
            &[0xfe, 0xf7, 45, 2, 0, 0xff, 0x81, 21],
            &[0, 0, 0, 0, 0, 0, 0x1d, 0, 0, 0],
            b"ijklmnopqrst\0",
            b"mysql_native_password\0",
        ]
        .concat()
    }

    #[test]
    fn mariadb_is_told_from_mysql() {
        let greeting = parse(&mariadb()).unwrap();
        assert_eq!(greeting.engine, "mariadb");
        assert_eq!(greeting.version, "10.11.14-MariaDB-0+deb12u2");
        assert_eq!(greeting.challenge, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.plugin, b"mysql_native_password");
        let agreed = greeting.agreed();
        assert!(agreed.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
        for never in [
            CapabilityFlags::CLIENT_LOCAL_FILES,
            CapabilityFlags::CLIENT_MULTI_STATEMENTS,
            CapabilityFlags::CLIENT_SSL,
        ] {
            assert!(!agreed.intersects(never), "{never:?}");
        }
        let mysql = [
            &b"8.4.3\0\x05\0\0\0abcdefgh\0"[..],
            &[0xff, 0xff, 255, 2, 0, 0xff, 0xdf, 21],
            &[0; 10],
            b"ijklmnopqrst\0",
            b"caching_sha2_password",
        ]
        .concat();
        let greeting = parse(&mysql).unwrap();
        assert_eq!((greeting.engine, &greeting.version[..]), ("mysql", "8.4.3"));
        assert_eq!(greeting.plugin, b"caching_sha2_password");
    }

    #[test]
    fn a_greeting_cut_short_or_of_any_length_is_an_error_and_no_panic() {
        let whole = mariadb();
        let challenge_ends = whole.len() - b"mysql_native_password\0".len();
        for cut in 0..challenge_ends {
            assert_eq!(
                parse(&whole[..cut]).unwrap_err().outcome,
                Outcome::Protocol,
                "{cut}"
            );
        }
        let length = whole.iter().position(|byte| *byte == 21).unwrap();
        for told in 0..=u8::MAX {
            let mut other = whole.clone();
            other[length] = told;
            // The second part is 13 bytes at least; one told longer takes from what follows.
            let read = parse(&other);
            if told <= 21 {
                assert_eq!(read.unwrap().challenge, b"abcdefghijklmnopqrst", "{told}");
            }
        }
    }
}

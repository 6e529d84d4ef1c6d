//! From an error packet to a failure in the closed set of outcomes.
//!
//! Source: MySQL's "Server Error Message Reference" and MariaDB's "MariaDB Error Code Reference".

use super::conversation::protocol;
use super::packet::Reader;
use crate::engine::{Failure, Outcome};

/// How much of a server's error is kept: more than any it writes itself, and a line that a log can take.
const MAX_ERROR_CHARS: usize = 1000;

/// The outcome an error code stands for.
fn outcome(code: u16) -> Outcome {
    match code {
        // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_NOWAIT.
        1205 | 3572 => Outcome::LockTimeout,
        // max_statement_time of MariaDB, max_execution_time of MySQL.
        1969 | 3024 => Outcome::Timeout,
        // For the server, for an account, and an account's other limits.
        1040 | 1203 | 1226 => Outcome::TooManyConnections,
        // ER_UNKNOWN_STMT_HANDLER, ER_NEED_REPREPARE.
        1243 | 1615 => Outcome::PreparedMissing,
        // Blocked or unlisted hosts, wrong passwords, unknown, expired and locked accounts and plugins.
        1045 | 1129 | 1130 | 1251 | 1275 | 1524 | 1698 | 1820 | 1862 | 3118 | 4151 => Outcome::Auth,
        // ER_SECURE_TRANSPORT_REQUIRED.
        3159 => Outcome::Tls,
        // Shutting down, killed, idle for too long, or the connection broke over a packet: the session is over.
        1053 | 1080 | 1152 | 1153 | 1156..=1161 | 1184 | 1927 | 4031 => Outcome::Disconnected,
        _ => Outcome::ServerError,
    }
}

/// The code and the text of an error packet, behind its first byte.
fn parse(packet: &[u8]) -> Result<(u16, String), Failure> {
    let mut reader = Reader(packet);
    let code = reader.u16()?;
    let text = match reader.0 {
        // A SQLSTATE, which says less than the code; errors instead of a greeting have none.
        [b'#', _, _, _, _, _, text @ ..] => text,
        [b'#', ..] => return Err(protocol("an error that ends too early")),
        text => text,
    };
    let kept = &text[..text.len().min(4 * MAX_ERROR_CHARS)];
    let text = String::from_utf8_lossy(kept);
    Ok((code, text.chars().take(MAX_ERROR_CHARS).collect()))
}

/// The failure an error packet in a session stands for, behind its first byte.
pub(super) fn read(packet: &[u8]) -> Failure {
    match parse(packet) {
        Ok((code, text)) => {
            let outcome = outcome(code);
            Failure {
                usable: outcome != Outcome::Disconnected,
                ..Failure::fatal(outcome, format!("{text} ({code})"))
            }
        }
        Err(failure) => failure,
    }
}

/// The same before there is a session, where a database that is not for us is one of who we are.
pub(super) fn refusal(packet: &[u8]) -> Failure {
    let mut failure = read(packet);
    if parse(packet).is_ok_and(|(code, _)| code == 1044) {
        failure.outcome = Outcome::Auth;
    }
    failure.usable = false;
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u16, rest: &str) -> Vec<u8> {
        [&code.to_le_bytes(), rest.as_bytes()].concat()
    }

    #[test]
    fn codes_fall_into_their_classes() {
        for (code, expected, usable) in [
            (1205, Outcome::LockTimeout, true),
            (3572, Outcome::LockTimeout, true),
            (1969, Outcome::Timeout, true),
            (3024, Outcome::Timeout, true),
            (1040, Outcome::TooManyConnections, true),
            (1226, Outcome::TooManyConnections, true),
            (1243, Outcome::PreparedMissing, true),
            (1045, Outcome::Auth, true),
            (3159, Outcome::Tls, true),
            (1053, Outcome::Disconnected, false),
            (1927, Outcome::Disconnected, false),
            (1213, Outcome::ServerError, true),
            (1044, Outcome::ServerError, true),
            (1064, Outcome::ServerError, true),
            (0, Outcome::ServerError, true),
        ] {
            let failure = read(&packet(code, "#HY000no"));
            assert_eq!(
                (failure.outcome, failure.usable),
                (expected, usable),
                "{code}"
            );
            assert_eq!(failure.message, format!("no ({code})"));
        }
        let denied = refusal(&packet(1044, "#42000no"));
        assert_eq!((denied.outcome, denied.usable), (Outcome::Auth, false));
    }

    #[test]
    fn an_error_may_lack_its_state_and_not_its_code() {
        let failure = read(&packet(1040, "Too many connections"));
        assert_eq!(failure.message, "Too many connections (1040)");
        for cut in [&[][..], &[16], b"\x10\x04#080"] {
            assert_eq!(read(cut).outcome, Outcome::Protocol, "{cut:?}");
        }
        let long = read(&packet(1, &format!("#HY000{}", "é".repeat(1 << 20))));
        assert_eq!(long.message.chars().count(), MAX_ERROR_CHARS + " (1)".len());
    }
}

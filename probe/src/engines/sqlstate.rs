//! From a SQLSTATE to the closed set of outcomes.
//!
//! Source: PostgreSQL's appendix "PostgreSQL Error Codes" (`src/backend/utils/errcodes.txt`).

use crate::engine::Outcome;

/// The outcome an error code stands for.
pub(super) fn outcome(code: &str) -> Outcome {
    match code {
        // query_canceled: what statement_timeout raises.
        "57014" => Outcome::Timeout,
        // lock_not_available: what lock_timeout raises.
        "55P03" => Outcome::LockTimeout,
        "53300" => Outcome::TooManyConnections,
        // invalid_sql_statement_name.
        "26000" => Outcome::PreparedMissing,
        // admin_shutdown, crash_shutdown, database_dropped, idle_session_timeout: the session is over.
        "57P01" | "57P02" | "57P04" | "57P05" => Outcome::Disconnected,
        // cannot_connect_now: starting up, shutting down, recovering.
        "57P03" => Outcome::Refused,
        // Class 28: invalid authorization specification, invalid password.
        _ if code.starts_with("28") => Outcome::Auth,
        _ => Outcome::ServerError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_fall_into_their_classes() {
        for (code, expected) in [
            ("57014", Outcome::Timeout),
            ("55P03", Outcome::LockTimeout),
            ("53300", Outcome::TooManyConnections),
            ("28P01", Outcome::Auth),
            ("28000", Outcome::Auth),
            ("26000", Outcome::PreparedMissing),
            ("57P01", Outcome::Disconnected),
            ("57P03", Outcome::Refused),
            ("42P01", Outcome::ServerError),
            ("", Outcome::ServerError),
        ] {
            assert_eq!(outcome(code), expected, "{code}");
        }
    }
}

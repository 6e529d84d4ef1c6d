//! What the probe needs of a database engine: a session, and one timed query on it.
//!
//! An engine never retries and never opens a second connection: what happened is returned, and the lane decides.

use std::fmt;
use std::time::{Duration, Instant};

use crate::config::{Access, Target};
use crate::engines::{mysql::Mysql, postgres::Postgres, sqlite::Sqlite};
use crate::workload::Workload;

/// How a query ended: the closed set of the label `result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The whole reply arrived.
    Ok,
    /// A deadline passed, here or on the server.
    Timeout,
    /// Nobody listens there, or it takes no connections now.
    Refused,
    /// The server did not accept who we are.
    Auth,
    /// No encrypted connection could be agreed on.
    Tls,
    /// The server refused the statement.
    ServerError,
    /// The server gave up waiting for a lock.
    LockTimeout,
    /// The server has no connection left for us.
    TooManyConnections,
    /// The server no longer knows the prepared statement.
    PreparedMissing,
    /// The reply is not what the protocol allows.
    Protocol,
    /// The connection ended in the middle.
    Disconnected,
    /// The probe itself ran too late to say anything about the database.
    ClientLate,
    /// The database file is locked by somebody else.
    Busy,
}

impl Outcome {
    /// Every outcome, in the order of the documentation.
    pub const ALL: [Outcome; 13] = [
        Outcome::Ok,
        Outcome::Timeout,
        Outcome::Refused,
        Outcome::Auth,
        Outcome::Tls,
        Outcome::ServerError,
        Outcome::LockTimeout,
        Outcome::TooManyConnections,
        Outcome::PreparedMissing,
        Outcome::Protocol,
        Outcome::Disconnected,
        Outcome::ClientLate,
        Outcome::Busy,
    ];

    /// The label value.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Timeout => "timeout",
            Outcome::Refused => "refused",
            Outcome::Auth => "auth",
            Outcome::Tls => "tls",
            Outcome::ServerError => "server_error",
            Outcome::LockTimeout => "lock_timeout",
            Outcome::TooManyConnections => "too_many_connections",
            Outcome::PreparedMissing => "prepared_missing",
            Outcome::Protocol => "protocol",
            Outcome::Disconnected => "disconnected",
            Outcome::ClientLate => "client_late",
            Outcome::Busy => "busy",
        }
    }
}

/// A query or a connect that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its class; never [`Outcome::Ok`].
    pub outcome: Outcome,
    /// What happened, for a log; never a label.
    pub message: String,
    /// Whether the session may take another query: the reply was read to its end.
    pub usable: bool,
}

impl Failure {
    /// A failure after which the session is unusable.
    pub fn fatal(outcome: Outcome, message: impl Into<String>) -> Self {
        Failure {
            outcome,
            message: message.into(),
            usable: false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.outcome.label(), self.message)
    }
}

/// How long each phase of a connect took; `None` where it was not reached or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// From a name to addresses.
    pub resolve: Option<Duration>,
    /// From an address to a connection, or from a path to an open file.
    pub connect: Option<Duration>,
    /// From a connection to an encrypted one: asking for TLS, and the handshake.
    pub tls: Option<Duration>,
    /// From a connection, encrypted or not, to a session that takes queries.
    pub auth: Option<Duration>,
}

impl Phases {
    /// The phases reached, with their label values.
    pub fn reached(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        [
            ("resolve", self.resolve),
            ("connect", self.connect),
            ("tls", self.tls),
            ("auth", self.auth),
        ]
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)))
    }
}

/// The clock readings of one successful query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// Just before the request is handed to the kernel or, embedded, to the library.
    pub started: Instant,
    /// When the first row was in user space; `None` without rows.
    pub first_row: Option<Instant>,
    /// When the last row was in user space; `None` without rows.
    pub last_row: Option<Instant>,
    /// When the last byte of the reply was in user space.
    pub done: Instant,
}

/// What a session is, as found at connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Label `engine`: `postgres`, `mysql`, `mariadb` or `sqlite`, as the other side says itself.
    pub engine: &'static str,
    /// The server's or library's version, as it says itself.
    pub version: String,
    /// `tcp`, `unix` or `file`: as the socket says and not as it was configured.
    pub transport: &'static str,
    /// The version of TLS in use, such as `TLSv1.3`, or `none`.
    pub tls: &'static str,
}

/// A way to a database.
pub trait Engine: Send {
    /// Opens a session made ready for `workload`: its rows are there and its statement is prepared. Writes into
    /// `phases` what was reached, on failure too.
    ///
    /// # Errors
    /// The connection, the authentication or the preparation failed.
    fn connect(
        &mut self,
        workload: &Workload,
        phases: &mut Phases,
    ) -> Result<Box<dyn Session>, Failure>;
}

/// An open connection with one workload prepared on it.
pub trait Session {
    /// What the other side is.
    fn peer(&self) -> &Peer;

    /// Executes the workload's statement with `params`, and reads its reply to the end: once, or as often as its
    /// protocol says, with as many parameters one behind the other.
    ///
    /// # Errors
    /// The query failed; the failure says whether the session is still usable.
    fn execute(&mut self, params: &[i64]) -> Result<Timings, Failure>;
}

/// The engine of a target.
pub fn of(target: &Target) -> Box<dyn Engine> {
    match &target.access {
        Access::Postgres(server) => Box::new(Postgres::new(server.clone(), target.timeout)),
        Access::Mysql(server) => Box::new(Mysql::new(server.clone(), target.timeout)),
        Access::Sqlite { path, create } => {
            Box::new(Sqlite::new(path.clone(), *create, target.timeout))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_have_labels_of_their_own() {
        let mut labels: Vec<&str> = Outcome::ALL.iter().map(|o| o.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), Outcome::ALL.len());
    }

    #[test]
    fn a_phase_not_reached_is_absent() {
        let phases = Phases {
            resolve: Some(Duration::ZERO),
            ..Phases::default()
        };
        let reached: Vec<_> = phases.reached().collect();
        assert_eq!(reached, [("resolve", Duration::ZERO)]);
    }
}

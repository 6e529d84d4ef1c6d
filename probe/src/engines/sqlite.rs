//! SQLite, embedded: a file opened in this process, so no second process and no socket is part of the figure.
//!
//! One query = bind, every step, reset. A file locked by somebody else is waited for as long as a query may take, and
//! then is `busy`; a statement that runs too long is ended from SQLite's own progress callback, every 10,000
//! instructions of its virtual machine, which a query of one row never reaches.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};

use crate::config::Timeout;
use crate::engine::{Engine, Failure, Outcome, Peer, Phases, Session, Timings};
use crate::workload::{Fixture, Protocol, Workload};

/// How often SQLite asks whether to go on, in instructions: a fraction of a millisecond.
const INSTRUCTIONS_PER_CHECK: i32 = 10_000;

/// A way to a SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    create: bool,
    timeout: Timeout,
}

impl Sqlite {
    /// The file `path`; made where it is missing if `create`.
    pub fn new(path: PathBuf, create: bool, timeout: Timeout) -> Self {
        Sqlite {
            path,
            create,
            timeout,
        }
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if self.create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.timeout.query)?;
        // Opening alone reads nothing: this finds out whether it is a database.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        Ok(connection)
    }

    fn unopened(&self, error: &rusqlite::Error) -> Failure {
        let hint = if self.create || self.path.exists() {
            ""
        } else {
            "; the file is not there: correct `path`, or create an empty file"
        };
        let outcome = match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Outcome::Refused,
            code => outcome(code),
        };
        Failure::fatal(outcome, format!("{}: {error}{hint}", self.path.display()))
    }
}

impl Engine for Sqlite {
    fn connect(
        &mut self,
        workload: &Workload,
        phases: &mut Phases,
    ) -> Result<Box<dyn Session>, Failure> {
        let begun = Instant::now();
        let mut connection = self.open().map_err(|error| self.unopened(&error))?;
        phases.connect = Some(begun.elapsed());
        let deadline = Deadline::watching(&mut connection).map_err(|error| failure(&error))?;
        if let Some(fixture) = &workload.fixture {
            make(&connection, fixture).map_err(|error| {
                Failure::fatal(
                    outcome(error.sqlite_error_code()),
                    format!(
                        "cannot create the probe's own rows in {}: {error}",
                        self.path.display()
                    ),
                )
            })?;
        }
        let session = SqliteSession {
            connection,
            deadline,
            limit: self.timeout.query,
            text: workload.statement.text.clone(),
            prepared: workload.statement.protocol == Protocol::Prepared,
            peer: Peer {
                engine: "sqlite",
                version: rusqlite::version().to_owned(),
                transport: "file",
                tls: "none",
            },
        };
        if session.prepared {
            // Kept by the connection; executing takes it from there.
            let prepared = session.connection.prepare_cached(&session.text);
            prepared.map(drop).map_err(|error| failure(&error))?;
        }
        Ok(Box::new(session))
    }
}

fn make(connection: &Connection, fixture: &Fixture) -> rusqlite::Result<()> {
    if connection.query_row(fixture.check, [], |_| Ok(())).is_ok() {
        return Ok(());
    }
    let made = connection.execute_batch(fixture.create);
    if made.is_err() {
        // Whether a transaction was open is SQLite's to know; the connection is given up either way.
        let _ = connection.execute_batch("ROLLBACK");
    }
    made
}

/// When the running statement is to be ended.
#[derive(Debug)]
struct Deadline {
    epoch: Instant,
    nanos: Arc<AtomicU64>,
}

impl Deadline {
    fn watching(connection: &mut Connection) -> rusqlite::Result<Self> {
        let epoch = Instant::now();
        let nanos = Arc::new(AtomicU64::new(u64::MAX));
        let watched = Arc::clone(&nanos);
        let passed = move || elapsed_ns(epoch) > watched.load(Ordering::Relaxed);
        connection.progress_handler(INSTRUCTIONS_PER_CHECK, Some(passed))?;
        Ok(Deadline { epoch, nanos })
    }

    fn begin(&self, limit: Duration) {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let nanos = elapsed_ns(self.epoch).saturating_add(limit);
        self.nanos.store(nanos, Ordering::Relaxed);
    }
}

fn elapsed_ns(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

struct SqliteSession {
    connection: Connection,
    deadline: Deadline,
    limit: Duration,
    text: String,
    prepared: bool,
    peer: Peer,
}

impl Session for SqliteSession {
    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn execute(&mut self, params: &[i64]) -> Result<Timings, Failure> {
        self.deadline.begin(self.limit);
        if self.prepared {
            let mut statement = self
                .connection
                .prepare_cached(&self.text)
                .map_err(|error| failure(&error))?;
            run(&mut statement, params, Instant::now())
        } else {
            let started = Instant::now();
            let mut statement = self
                .connection
                .prepare(&self.text)
                .map_err(|error| failure(&error))?;
            run(&mut statement, params, started)
        }
        .map_err(|error| failure(&error))
    }
}

/// Executes a statement. There is no clock reading for each row: SQLite returns from the last row to the end of the
/// statement in one step, so the last row is there when the statement is done.
fn run(
    statement: &mut rusqlite::Statement<'_>,
    params: &[i64],
    started: Instant,
) -> rusqlite::Result<Timings> {
    let mut rows = statement.query(params_from_iter(params))?;
    let mut first_row = None;
    while rows.next()?.is_some() {
        first_row.get_or_insert_with(Instant::now);
    }
    drop(rows);
    let done = Instant::now();
    Ok(Timings {
        started,
        first_row,
        last_row: first_row.map(|_| done),
        done,
    })
}

fn failure(error: &rusqlite::Error) -> Failure {
    let outcome = outcome(error.sqlite_error_code());
    Failure {
        outcome,
        message: error.to_string(),
        usable: matches!(outcome, Outcome::Busy | Outcome::Timeout),
    }
}

fn outcome(code: Option<ErrorCode>) -> Outcome {
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Outcome::Busy,
        Some(ErrorCode::OperationInterrupted) => Outcome::Timeout,
        _ => Outcome::ServerError,
    }
}

#[cfg(test)]
mod tests;

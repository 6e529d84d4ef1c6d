//! The probe's configuration: which databases are asked what, from where, and under which name they are reported.
//!
//! A file is read in two steps: `file` is the YAML as written, every key known and every scalar of the right form;
//! `check` makes the model below of it, with defaults filled in and names resolved. Both steps refuse with
//! `file:line:column: message`. The model holds no password, only where one is to be read at each connect.

mod access;
mod address;
mod check;
mod duration;
mod encryption;
mod file;
mod protocol;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use toolkit::config::{Error, Secret};

pub use address::Address;
pub use check::this_host;
pub use encryption::{ChannelBinding, Identity, Tls, Verify};

use crate::engine::{Failure, Outcome};
use crate::workload::{Dialect, Workload};

/// A checked configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The databases, with unique names; at least one.
    pub targets: Vec<Target>,
}

/// One database and what it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Label `target`.
    pub name: String,
    /// Label `node`: the host whose CPUs serve it.
    pub node: String,
    /// Base URL of the exporter that knows that host's profile; `None` where it is read in process.
    pub profile_from: Option<Uri>,
    /// Engine and how to reach it.
    pub access: Access,
    /// How long connecting and one query may take.
    pub timeout: Timeout,
    /// Where and how its lanes run.
    pub placement: Placement,
    /// What it is asked, with unique names; at least one.
    pub workloads: Vec<Arc<Workload>>,
}

/// The engine of a target, with what reaching it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// A PostgreSQL server.
    Postgres(Server),
    /// A MySQL or MariaDB server.
    Mysql(Server),
    /// A SQLite file.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Whether to create it; otherwise a misspelt path is an error and not an empty database.
        create: bool,
    },
}

impl Access {
    /// Whose words its statements are in.
    pub fn dialect(&self) -> Dialect {
        match self {
            Access::Postgres(_) => Dialect::Postgres,
            Access::Mysql(_) => Dialect::Mysql,
            Access::Sqlite { .. } => Dialect::Sqlite,
        }
    }
}

/// A database server behind a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where it listens.
    pub address: Address,
    /// Database to open; without one PostgreSQL takes that of the user's name, and MySQL opens none.
    pub database: Option<String>,
    /// User to open it as.
    pub user: String,
    /// Where the password is read at each connect.
    pub password: Option<Password>,
    /// How it is encrypted; `None` sends everything as it is.
    pub tls: Option<Tls>,
    /// Whether the authentication is bound to the encryption.
    pub channel_binding: ChannelBinding,
    /// Whether a password may be encrypted with a key the server sends over plaintext: the option of this name that
    /// MySQL's own clients have. PostgreSQL knows nothing like it.
    pub get_server_public_key: bool,
}

impl Server {
    /// Whether what is sent is read by the server alone: it stays on this host, or it is encrypted for somebody known.
    pub fn is_private(&self) -> bool {
        let known = |tls: &Tls| tls.verify != Verify::Nothing;
        self.address.is_local() || self.tls.as_ref().is_some_and(known)
    }

    /// Reads the password, where there is one: at each connect, so that a new one is used without a restart.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_password(&self) -> Result<Option<Secret>, Failure> {
        let password = self.password.as_ref().map(Password::read).transpose();
        password.map_err(|message| Failure::fatal(Outcome::Auth, message))
    }
}

/// Where a password is kept. It is never part of the configuration itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Password {
    /// In a file of its own, without its line end.
    File(PathBuf),
    /// In an environment variable.
    Env(String),
    /// In a credential that systemd hands to the unit (`LoadCredential=`, `LoadCredentialEncrypted=`), a file of this
    /// name without its line end.
    Credential(String),
}

/// Where systemd says the unit's credentials are.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

impl Password {
    /// Reads the password.
    ///
    /// # Errors
    /// A sentence naming the file or the variable that could not be read.
    pub fn read(&self) -> Result<Secret, String> {
        match self {
            Password::File(path) => {
                Secret::from_file(path).map_err(|error| format!("password_file {error}"))
            }
            Password::Env(name) => std::env::var(name)
                .map(Secret::new)
                .map_err(|_| format!("password_env: the variable {name} is not set")),
            Password::Credential(name) => {
                let directory = std::env::var_os(CREDENTIALS).ok_or_else(|| {
                    format!(
                        "password_credential: {CREDENTIALS} is not set; systemd sets it for a unit with \
                         LoadCredential={name}:FILE"
                    )
                })?;
                Secret::from_file(&Path::new(&directory).join(name))
                    .map_err(|error| format!("password_credential {error}"))
            }
        }
    }
}

/// Limits in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// From the name to be resolved to a session that takes queries.
    pub connect: Duration,
    /// One query, from the request to the last byte of the reply.
    pub query: Duration,
}

/// Where and how a lane's thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placement {
    /// The CPU to stay on; `None` leaves it to the scheduler.
    pub cpu: Option<usize>,
    /// The scheduling policy.
    pub scheduling: Scheduling,
}

/// A scheduling policy of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheduling {
    /// `SCHED_OTHER`, what programs have by default.
    #[default]
    Other,
    /// `SCHED_BATCH`: a wake-up does not preempt for it.
    Batch,
    /// `SCHED_FIFO` with a priority of 1 to 99; needs CAP_SYS_NICE or a limit that allows it.
    Fifo(u8),
}

/// Reads and checks the configuration file `path`.
///
/// # Errors
/// The file or a password file it names cannot be read, or it says what is not allowed; with file, line and column.
pub fn load(path: &Path) -> Result<Config, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(path, &text)
}

/// Checks the configuration `text`, which came from `path`; relative files in it stand beside `path`.
///
/// # Errors
/// As [`load`].
pub fn parse(path: &Path, text: &str) -> Result<Config, Error> {
    let file: file::File = toolkit::config::parse(path, text)?;
    check::config(file, path, text)
}

/// The name of the embedded default target.
pub const EMBEDDED: &str = "embedded";

/// What the probe does without a configuration file: presets against a SQLite file in the directory `state`, so that
/// one command shows something with no server at all.
pub fn embedded(state: &Path) -> Config {
    Config {
        targets: vec![Target {
            name: EMBEDDED.to_owned(),
            node: check::this_host(),
            profile_from: None,
            access: Access::Sqlite {
                path: state.join("probe.sqlite"),
                create: true,
            },
            timeout: check::DEFAULT_TIMEOUT,
            placement: Placement::default(),
            workloads: crate::workloads::all(Dialect::Sqlite),
        }],
    }
}

#[cfg(test)]
mod tests;

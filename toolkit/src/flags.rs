//! Flags that mean the same in both programs: `--web.*` and `--log.*`.
//!
//! Flags of the whole program have an id of their own, so that a command can have a `--format` beside `--log.format`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

use crate::log;

/// `--web.*`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web")]
pub struct Web {
    /// Address to serve the page and /metrics on, more than once for several; the default is the program's own port on
    /// loopback.
    #[arg(long = "web.listen-address", value_name = "HOST:PORT")]
    pub listen_addresses: Vec<SocketAddr>,

    /// Serve on the sockets that systemd hands over instead.
    #[arg(long = "web.systemd-socket", conflicts_with = "listen_addresses")]
    pub systemd_socket: bool,

    /// File with TLS, users and headers, in the format of Prometheus' exporter-toolkit; read again on SIGHUP.
    #[arg(id = "web.config.file", long = "web.config.file", value_name = "FILE")]
    pub config_file: Option<PathBuf>,

    /// Requests answered at the same time; one more is answered with 503.
    #[arg(
        long = "web.max-requests",
        value_name = "N",
        default_value_t = 40,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub max_requests: u16,
}

/// `--log.*`.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Log")]
pub struct Log {
    /// How much to log on standard error.
    #[arg(
        id = "log.level",
        long = "log.level",
        value_name = "LEVEL",
        value_enum,
        default_value = "info",
        global = true
    )]
    pub level: log::Level,

    /// What a log line looks like.
    #[arg(
        id = "log.format",
        long = "log.format",
        value_name = "FORMAT",
        value_enum,
        default_value = "logfmt",
        global = true
    )]
    pub format: log::Format,
}

impl Log {
    /// Starts logging as the flags say.
    pub fn start(self) {
        log::start(self.level, self.format);
    }
}

/// Refuses flags that stand before a command they mean nothing to, instead of passing them over in silence.
///
/// # Errors
/// A flag of the whole program was given together with a command.
pub fn refuse_misplaced(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(name) = matches.subcommand_name() else {
        return Ok(());
    };
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let misplaced = command
        .get_arguments()
        .filter(|flag| !flag.is_global_set() && given(flag.get_id().as_str()))
        .find_map(|flag| flag.get_long().map(str::to_owned));
    match misplaced {
        None => Ok(()),
        Some(flag) => {
            let message =
                format!("--{flag} has to stand behind `{name}`, if it has any meaning there");
            Err(command.error(ErrorKind::ArgumentConflict, message))
        }
    }
}

/// A directory that exists.
///
/// # Errors
/// The sentence for whoever gave another path.
pub fn directory(text: &str) -> Result<std::path::PathBuf, String> {
    let path = std::path::PathBuf::from(text);
    match path.is_dir() {
        true => Ok(path),
        false => Err("there is no such directory".to_owned()),
    }
}

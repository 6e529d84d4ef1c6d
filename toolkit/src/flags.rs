//! Flags that mean the same in both programs: `--web.*` and `--log.*`.
//!
//! Flags of the whole program have an id of their own, so that a command can have a `--format` beside `--log.format`.

use std::net::SocketAddr;

use clap::Args;

use crate::log;

/// `--web.*`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web")]
pub struct Web {
    /// Address to serve the page and /metrics on; the default is the program's own port on loopback.
    #[arg(long = "web.listen-address", value_name = "HOST:PORT")]
    pub listen_address: Option<SocketAddr>,

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

//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use toolkit::flags::{Log, Web};

/// Time real database queries and say under which CPU power settings each ran.
#[derive(Debug, Parser)]
#[command(name = "wakelag-probe", version)]
pub struct Args {
    /// Configuration file; without one, a SQLite file in the state directory is asked.
    #[arg(long = "config.file", value_name = "FILE", global = true)]
    pub config_file: Option<PathBuf>,

    /// The web server of `serve`, which is what runs without a command.
    #[command(flatten)]
    pub web: Web,

    /// Logging.
    #[command(flatten)]
    pub log: Log,

    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What the program does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask every target all the time and publish what it takes (the default)
    Serve {
        /// The web server.
        #[command(flatten)]
        web: Web,
    },
    /// Read a configuration file and say what is wrong with it
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Ask one target as fast as it answers for a while, and print a table of the latencies
    Bench(Bench),
}

/// `bench`.
#[derive(Debug, clap::Args)]
pub struct Bench {
    /// Name of a target of the configuration, or `embedded`
    #[arg(long, value_name = "NAME")]
    pub target: String,

    /// Name of a workload: a preset, or one of that target's
    #[arg(long, value_name = "NAME")]
    pub workload: String,

    /// How long to measure, after the warm-up
    #[arg(
        long,
        value_name = "S",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=86_400)
    )]
    pub seconds: u32,

    /// How many connections ask at the same time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub lanes: u16,

    /// What the result looks like
    #[arg(
        id = "bench.format",
        long = "format",
        value_name = "FORMAT",
        value_enum,
        default_value = "text"
    )]
    pub format: Format,
}

/// What a result looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Text,
    /// One JSON object.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn flags_of_the_whole_program_stand_on_either_side_of_the_command() {
        let words = |line: &str| Args::try_parse_from(line.split(' ')).unwrap();
        let args = words("wakelag-probe --config.file=a bench --target=t --workload=w");
        assert_eq!(args.config_file, Some("a".into()));
        let args =
            words("wakelag-probe bench --target=t --workload=w --config.file=a --log.level=debug");
        assert_eq!(args.config_file, Some("a".into()));
        assert_eq!(args.log.level, toolkit::log::Level::Debug);
        assert!(
            words("wakelag-probe --web.max-requests=3")
                .command
                .is_none()
        );
        let Some(Command::Serve { web }) =
            words("wakelag-probe serve --web.max-requests=3").command
        else {
            panic!("serve")
        };
        assert_eq!(web.max_requests, 3);
    }
}

//! The command line.

use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use exporter::args::{Kernel, with_collectors};
use exporter::collector::Entry;
use toolkit::flags::{Log, Web, refuse_misplaced};

/// Time real database queries and say under which CPU power settings each ran.
#[derive(Debug, Parser)]
#[command(name = "wakelag-probe", version, max_term_width = 120)]
pub struct Args {
    /// Configuration file; without one, a SQLite file in the state directory is asked.
    #[arg(long = "config.file", value_name = "FILE", global = true)]
    pub config_file: Option<PathBuf>,

    /// What `serve` is told, which is what runs without a command.
    #[command(flatten)]
    pub serve: ServeFlags,

    /// Logging.
    #[command(flatten)]
    pub log: Log,

    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Args {
    /// Where this host's settings are read, if what is to be done reads any.
    fn kernel(&self) -> Option<&Kernel> {
        match &self.command {
            None => Some(&self.serve.kernel),
            Some(Command::Serve(flags)) => Some(&flags.kernel),
            Some(Command::Check { .. } | Command::Bench(_)) => None,
        }
    }
}

/// What the program does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask every target all the time and publish what it takes (the default)
    Serve(Box<ServeFlags>),
    /// Read a configuration file and say what is wrong with it
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Ask one target as fast as it answers for a while, and print a table of the latencies
    Bench(Bench),
}

/// `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeFlags {
    /// Serve this host's own figures too: idle states, frequency, energy, scheduling. On without a configuration.
    #[arg(long = "with-exporter")]
    pub with_exporter: bool,

    /// The web server.
    #[command(flatten)]
    pub web: Web,

    /// Where this host's settings are read.
    #[command(flatten)]
    pub kernel: Kernel,
}

/// The collectors that are switched on.
pub type Collectors = Vec<&'static Entry>;

/// The command line, understood.
#[derive(Debug)]
pub struct CommandLine {
    /// Commands and flags.
    pub args: Args,
    /// What `--collector.X` and `--no-collector.X` leave switched on.
    pub collectors: Collectors,
}

/// Reads the command line of this process; on `--help` or a mistake the process ends.
pub fn parse() -> CommandLine {
    let mut command = command();
    let matches = command.get_matches_mut();
    let args = refuse_misplaced(&mut command, &matches)
        .and_then(|()| Args::from_arg_matches(&matches))
        .and_then(|args| match args.kernel() {
            Some(kernel) => kernel.check(&mut command).map(|()| args),
            None => Ok(args),
        });
    match args {
        Ok(args) => CommandLine {
            args,
            collectors: match matches.subcommand() {
                Some((SERVE, serve)) => exporter::args::enabled(serve),
                _ => exporter::args::enabled(&matches),
            },
        },
        Err(error) => error.exit(),
    }
}

const SERVE: &str = "serve";

/// The flags of the collectors stand with those of `serve`, written out or not.
fn command() -> clap::Command {
    with_collectors(Args::command()).mut_subcommand(SERVE, with_collectors)
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
    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
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
        let serve = words("wakelag-probe serve --web.max-requests=3").command;
        let Some(Command::Serve(flags)) = serve else {
            panic!("serve")
        };
        assert_eq!(flags.web.max_requests, 3);
    }
}

//! The command line: what is the same for both programs, the roots, and a pair of flags a collector.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser,
    ValueEnum,
};
use toolkit::flags::{directory, refuse_misplaced};

use crate::collector::Entry;
use crate::collectors::{COLLECTORS, Flags};
use crate::root::{Paths, Root};

/// Stands below the flags. A test counts the series of a machine of any size.
const AFTER_HELP: &str = "A collector is switched off by --no-collector.NAME.

Series of the default collectors, on an Intel server whose CPUs have four idle states (`doctor` counts those of this
host):

  --cardinality  a CPU  a core  a package  the host
  cpu               64       2         12       220
  package            0       2         76       220
  node               0       2         12       284";

/// Publishes idle states, frequency, energy, scheduling and the settings behind them for Prometheus.
#[derive(Debug, Parser)]
#[command(
    name = "wakelag-exporter",
    version,
    max_term_width = 120,
    after_help = AFTER_HELP
)]
struct Cli {
    #[command(flatten)]
    web: toolkit::flags::Web,
    #[command(flatten)]
    kernel: Kernel,
    /// Keep the right to read other files than the kernel's and to connect to elsewhere.
    #[arg(long = "no-sandbox", help_heading = "Host")]
    no_sandbox: bool,
    #[command(flatten)]
    log: toolkit::flags::Log,
    #[command(subcommand)]
    command: Option<Subcommand>,
}

#[derive(Debug, clap::Subcommand)]
enum Subcommand {
    /// Say how each collector stands on this host, why, and what to do
    Doctor(DoctorFlags),
}

const DOCTOR: &str = "doctor";

#[derive(Debug, Args)]
struct DoctorFlags {
    #[command(flatten)]
    kernel: Kernel,
    /// What the report looks like.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    format: DoctorFormat,
}

/// What the doctor's report looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

/// `--path.*`, `--node.name`, `--collector.timeout` and the flags of single collectors.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Host")]
pub struct Kernel {
    /// Where procfs is mounted.
    #[arg(
        long = "path.procfs",
        value_name = "DIR",
        default_value = "/proc",
        value_parser = ValueParser::new(directory)
    )]
    pub procfs: PathBuf,

    /// Where sysfs is mounted.
    #[arg(
        long = "path.sysfs",
        value_name = "DIR",
        default_value = "/sys",
        value_parser = ValueParser::new(directory)
    )]
    pub sysfs: PathBuf,

    /// Where device files are; of them only cpu_dma_latency is read, as far as this user may.
    #[arg(
        long = "path.devfs",
        value_name = "DIR",
        default_value = "/dev",
        value_parser = ValueParser::new(directory)
    )]
    pub devfs: PathBuf,

    /// Name of this host in dashboards and rules; the default is its host name.
    #[arg(long = "node.name", value_name = "NAME")]
    pub node_name: Option<String>,

    /// Time a collector may take before the scrape goes on without it.
    #[arg(
        long = "collector.timeout",
        value_name = "SECONDS",
        default_value = "1",
        value_parser = ValueParser::new(seconds)
    )]
    pub timeout: Duration,

    /// How often to look for changed settings while nobody scrapes, to date a change and count its time and energy; 0 for
    /// never. On a machine where a look takes more than 0.5 ms it is less often: checks stay below 0.1 % of one CPU.
    #[arg(
        long = "profile.check-interval",
        value_name = "SECONDS",
        default_value = "1",
        help_heading = "Profile",
        value_parser = ValueParser::new(seconds_or_never)
    )]
    pub check_interval: Duration,

    /// What single collectors are told.
    #[command(flatten)]
    pub collectors: Flags,
}

impl Kernel {
    /// Whether what the flags say makes sense together and on this host.
    ///
    /// # Errors
    /// It does not; `command` says how it is used.
    pub fn check(&self, command: &mut Command) -> Result<(), clap::Error> {
        let checked = self.collectors.settings.check(&Root::new(self.paths()));
        checked.map_err(|problem| command.error(ErrorKind::ValueValidation, problem))
    }

    /// The roots, as the flags say.
    pub fn paths(&self) -> Paths {
        Paths::new(self.procfs.clone(), self.sysfs.clone(), self.devfs.clone())
    }
}

/// The exporter's command line, understood.
#[derive(Debug)]
pub struct Options {
    /// `--web.*`.
    pub web: toolkit::flags::Web,
    /// The host's flags.
    pub kernel: Kernel,
    /// `--no-sandbox`.
    pub no_sandbox: bool,
    /// `--log.*`.
    pub log: toolkit::flags::Log,
    /// The collectors that are switched on.
    pub collectors: Vec<&'static Entry>,
    /// Examine the host instead of serving.
    pub doctor: Option<DoctorFormat>,
}

/// Reads the command line of this process; on `--help` or a mistake the process ends.
pub fn parse() -> Options {
    let mut command = command();
    let matches = command.get_matches_mut();
    let options = refuse_misplaced(&mut command, &matches)
        .and_then(|()| Cli::from_arg_matches(&matches))
        .map(|cli| options(cli, &matches))
        .and_then(|options| options.kernel.check(&mut command).map(|()| options));
    match options {
        Ok(options) => options,
        Err(error) => error.exit(),
    }
}

/// The flags of the host and of the collectors belong to whichever command they stand behind.
fn command() -> Command {
    with_collectors(Cli::command()).mut_subcommand(DOCTOR, with_collectors)
}

fn options(cli: Cli, matches: &ArgMatches) -> Options {
    let (kernel, doctor) = match cli.command {
        Some(Subcommand::Doctor(doctor)) => (doctor.kernel, Some(doctor.format)),
        None => (cli.kernel, None),
    };
    Options {
        web: cli.web,
        kernel,
        no_sandbox: cli.no_sandbox,
        log: cli.log,
        collectors: match matches.subcommand() {
            Some((_, doctor)) => enabled(doctor),
            None => enabled(matches),
        },
        doctor,
    }
}

/// Adds `--collector.X` and `--no-collector.X` for every collector.
pub fn with_collectors(command: Command) -> Command {
    COLLECTORS.iter().fold(command, |command, entry| {
        let info = entry.info;
        let (on, off) = (on_flag(entry), off_flag(entry));
        let default = if info.default_on { "on" } else { "off" };
        let switch = |flag: &str, other: &str| {
            Arg::new(flag.to_owned())
                .long(flag.to_owned())
                .action(ArgAction::SetTrue)
                .overrides_with(other.to_owned())
                .help_heading("Collectors")
        };
        let help = format!(
            "{} [cost class {:?}, default {default}]",
            info.about, info.cost
        );
        let mut switch_on = switch(&on, &off).help(help);
        if let Some(group) = entry.asked_by {
            switch_on = switch_on.requires(group);
        }
        command.arg(switch_on).arg(switch(&off, &on).hide(true))
    })
}

/// The collectors that `matches` switches on.
pub fn enabled(matches: &ArgMatches) -> Vec<&'static Entry> {
    let is_on = |entry: &&Entry| {
        let (on, off) = (
            matches.get_flag(&on_flag(entry)),
            matches.get_flag(&off_flag(entry)),
        );
        let asked_for = entry
            .asked_by
            .is_some_and(|group| matches.contains_id(group));
        on || ((entry.info.default_on || asked_for) && !off)
    };
    COLLECTORS.iter().filter(is_on).collect()
}

fn on_flag(entry: &Entry) -> String {
    format!("collector.{}", entry.info.name)
}

fn off_flag(entry: &Entry) -> String {
    format!("no-collector.{}", entry.info.name)
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match seconds_or_never(text)? {
        Duration::ZERO => Err("a time above 0 is needed".to_owned()),
        duration => Ok(duration),
    }
}

/// Seconds, of which 0 means never.
fn seconds_or_never(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("{text:?} is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("{text:?}: {error}"))
}

#[cfg(test)]
mod tests;

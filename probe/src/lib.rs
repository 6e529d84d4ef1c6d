//! wakelag-probe: times real database queries and says under which CPU power settings each ran.

pub mod args;
pub mod bench;
pub mod config;
pub mod engine;
pub mod engines;
pub mod page;
pub mod placement;
pub mod prober;
pub mod profile;
pub mod record;
pub mod runner;
pub mod schedule;
pub mod serve;
pub mod state;
pub mod workload;
pub mod workloads;

use std::path::Path;

use args::{Args, Collectors, Command, CommandLine, Format, ServeFlags};
use config::Config;

/// Why the program ended. Prints as a sentence that names what and where.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration was refused.
    #[error(transparent)]
    Config(#[from] toolkit::config::Error),
    /// There is no place for the embedded default.
    #[error(transparent)]
    State(#[from] state::Error),
    /// A lane could not be started.
    #[error(transparent)]
    Prober(#[from] prober::Error),
    /// A benchmark has no result.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// The page and the metrics cannot be served.
    #[error(transparent)]
    Web(#[from] toolkit::web::StartError),
    /// Something the program runs on could not be had: a thread, a signal, a socket.
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
    /// An exporter's address is none.
    #[error("profile_from {0}: not an address such as http://db1:9973")]
    ProfileFrom(String),
    /// The result could not be printed.
    #[error("cannot print the result: {0}")]
    Print(#[from] std::io::Error),
}

/// Every metric the probe can publish.
pub fn metrics() -> &'static [&'static toolkit::metric::Desc] {
    record::metrics::METRICS
}

/// Does what the command line says.
///
/// # Errors
/// See [`Error`].
pub fn run(line: CommandLine) -> Result<(), Error> {
    let args = &line.args;
    match &args.command {
        None => serve(args, &args.serve, line.collectors),
        Some(Command::Serve(flags)) => serve(args, flags, line.collectors),
        Some(Command::Check { file }) => {
            let config = config::load(file)?;
            let workloads = config.targets.iter().map(|target| target.workloads.len());
            let (targets, workloads) = (config.targets.len(), workloads.sum::<usize>());
            print(&format!(
                "{}: targets: {targets}, workloads: {workloads}\n",
                file.display()
            ))
        }
        Some(Command::Bench(bench)) => {
            let report = bench::run(bench, &configuration(args)?)?;
            match bench.format {
                Format::Text => print(&report.to_string()),
                Format::Json => {
                    let json = serde_json::to_string(&report).map_err(std::io::Error::from)?;
                    print(&format!("{json}\n"))
                }
            }
        }
    }
}

/// Serves. The embedded default is to show something by itself, so the exporter belongs to it.
fn serve(args: &Args, flags: &ServeFlags, collectors: Collectors) -> Result<(), Error> {
    let with_exporter = flags.with_exporter || args.config_file.is_none();
    let options = serve::Options {
        web: flags.web.clone(),
        kernel: flags.kernel.clone(),
        collectors: with_exporter.then_some(collectors),
    };
    serve::run(configuration(args)?, &options)
}

/// The configuration file, or the embedded default.
fn configuration(args: &Args) -> Result<Config, Error> {
    match &args.config_file {
        Some(file) => Ok(config::load(Path::new(file))?),
        None => Ok(config::embedded(&state::directory()?)),
    }
}

/// Unlike `print!`, says when the other end is gone.
fn print(text: &str) -> Result<(), Error> {
    use std::io::Write as _;
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

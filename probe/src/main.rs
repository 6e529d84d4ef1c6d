//! The program wakelag-probe: command line in, exit code out.

use std::process::ExitCode;

use clap::Parser as _;
use probe::args::Args;

fn main() -> ExitCode {
    let args = Args::parse();
    args.log.start();
    match probe::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wakelag-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

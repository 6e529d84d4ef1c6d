//! The program wakelag-probe: command line in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    let line = probe::args::parse();
    line.args.log.start();
    match probe::run(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => toolkit::log::fatal(&error),
    }
}

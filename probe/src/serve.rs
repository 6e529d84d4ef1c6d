//! Asks every target until told to stop.

use nix::sys::signal::{SigSet, Signal};

use crate::Error;
use crate::config::Config;
use crate::prober::Prober;

/// Runs the lanes of `config` until SIGINT or SIGTERM.
///
/// # Errors
/// A lane could not be started, or signals cannot be waited for.
pub fn run(config: Config) -> Result<(), Error> {
    // Blocked before any thread is made, so that no thread is ended by one.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(Error::Signals)?;
    let prober = Prober::start(config)?;
    tracing::info!(targets = prober.targets().len(), "started");
    let signal = signals.wait().map_err(Error::Signals)?;
    tracing::info!(signal = signal.as_str(), "stopping");
    prober.stop();
    Ok(())
}

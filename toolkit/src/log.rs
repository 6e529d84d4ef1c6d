//! Logs on standard error, as logfmt or JSON lines.

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// What stops the program or a part of it.
    Error,
    /// What an operator should look at.
    Warn,
    /// What an operator expects to see: start, stop, changes of outcome.
    Info,
    /// Each step.
    Debug,
    /// Everything.
    Trace,
}

/// What a log line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `key=value` pairs.
    Logfmt,
    /// One JSON object a line.
    Json,
}

/// Starts logging for the whole program; a second call changes nothing.
pub fn start(level: Level, format: Format) {
    let filter = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let registry = tracing_subscriber::registry().with(filter);
    let started = match format {
        Format::Logfmt => registry
            .with(
                tracing_logfmt::builder()
                    .with_target(false)
                    .layer()
                    .with_writer(std::io::stderr),
            )
            .try_init(),
        Format::Json => registry
            .with(
                tracing_subscriber::fmt::layer()
                    .json()
                    .flatten_event(true)
                    .with_target(false)
                    .with_writer(std::io::stderr),
            )
            .try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was already started");
    }
}

/// Ends the program for `error`: one line a cause, from the last to the first, and exit code 1.
pub fn fatal(error: &(dyn std::error::Error + 'static)) -> std::process::ExitCode {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Errors that print their cause themselves need it said once only.
        if !message.contains(&cause_text) {
            message = format!("{message}: {cause_text}");
        }
        source = cause.source();
    }
    eprintln!("error: {message}");
    std::process::ExitCode::FAILURE
}

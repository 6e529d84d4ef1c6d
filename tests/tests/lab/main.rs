//! The exporter on a real kernel whose idle states, frequencies, CPUs and scheduler statistics are live: what fixtures
//! cannot show is whether a scrape leaves a sleeping CPU alone, and what changes when a setting really does.
//!
//! One machine is started, which goes through the steps of every room in turn; each test then judges its part of what
//! was printed. Times and rates mean nothing in an emulation and are not judged.

mod acpi;
mod changes;
mod cpus;
mod guest;
mod idle;
mod quiet;
mod sense;
mod transcript;

use std::sync::OnceLock;

use transcript::Transcript;

/// In the order they are taken. A room leaves the machine as it found it.
const STEPS: [&str; 5] = [
    sense::STEPS,
    quiet::STEPS,
    idle::STEPS,
    changes::STEPS,
    cpus::STEPS,
];

/// The profile the machine starts in, and is brought back to.
const PROFILE: &str = "schedutil/idle<=C3@250us/smt=on";

/// What the machine printed.
///
/// # Panics
/// With a sentence, if it could not be started or did not come to its end.
fn lab() -> &'static Transcript {
    static LAB: OnceLock<Result<Transcript, String>> = OnceLock::new();
    let lab = LAB.get_or_init(|| guest::run(&STEPS.concat()));
    lab.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

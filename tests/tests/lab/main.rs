//! The exporter on real kernels whose idle states, frequencies, CPUs and scheduler statistics are live: what fixtures
//! cannot show is whether a scrape leaves a sleeping CPU alone, and what changes when a setting really does.
//!
//! One machine is started for each kernel, which goes through the steps of every room in turn; each test then judges its
//! part of what was printed, and is called by the kernel: `6.12::idle::...`. Times and rates mean nothing in an emulation
//! and are not judged.
//!
//! A new test is a function in one of the rooms and its name in the room's list. What it wants to have happened is a
//! step: shell, with what `tests/lab/init` defines. Where a kernel lacks what is tested, the list says since when it is
//! there, and the test is shown as ignored with that reason.

mod acpi;
mod changes;
mod cpus;
mod doctor;
mod energy;
mod frequency;
mod guest;
mod idle;
mod kernel;
mod qos;
mod quiet;
mod room;
mod sandbox;
mod sched;
mod sense;
mod transcript;

use std::process::ExitCode;

use libtest_mimic::Arguments;

use room::Room;

/// In the order their steps are taken. A room leaves the machine's settings as it found them.
const ROOMS: [Room; 11] = [
    sense::ROOM,
    frequency::ROOM,
    quiet::ROOM,
    idle::ROOM,
    qos::ROOM,
    changes::ROOM,
    sched::ROOM,
    cpus::ROOM,
    energy::ROOM,
    sandbox::ROOM,
    doctor::ROOM,
];

/// The profile the machine starts in, and is brought back to.
const PROFILE: &str = "schedutil/idle<=C3@250us/smt=on";

fn main() -> ExitCode {
    let kernels = kernel::all();
    let trials = ROOMS.iter().flat_map(|room| room.trials(&kernels));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

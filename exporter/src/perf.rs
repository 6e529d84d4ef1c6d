//! What the kernel's performance monitoring units (PMUs) count for whole packages.
//!
//! Source: `/sys/bus/event_source/devices/PMU/{type,cpumask,format/event,events/*}` says what a PMU counts, and on which CPU
//! of each package or die; perf_event_open(2) counts it, from 0 at the opening and without a wrap.
//! Kernel: 3.13; Documentation/ABI/testing/sysfs-bus-event_source-devices-events.
//! Absent: no such PMU.
//! Denied: a PMU that counts for everybody wants CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8, and on Debian and Ubuntu where
//! kernel.perf_event_paranoid is above 2), or kernel.perf_event_paranoid of 0 or less.
//! Cost: D, one wake-up a package however many events are read, as a group; none for the package of the reader. Opening
//! costs one a package and event, once.
//!
//! The call itself is behind [`Perf`], because a PMU cannot be put into a directory for a test as files can.

#[cfg(test)]
pub(crate) mod fake;
mod kernel;
mod packages;
mod pmu;

use std::fmt::Debug;

use nix::errno::Errno;

pub use self::kernel::Kernel;
pub use self::packages::{Count, Packages, Place};
pub use self::pmu::{DEVICES, Event, Pmu};

/// The system call perf_event_open(2).
pub trait Perf: Debug + Send {
    /// Counts the events `configs` of the PMU of type `kind` on `cpu`, whoever runs there, as one group.
    ///
    /// # Errors
    /// What the kernel answered.
    fn open(&self, kind: u32, configs: &[u64], cpu: u32) -> Result<Box<dyn Counters>, Errno>;

    /// Counts one event while the calling thread runs, for some milliseconds; the count, and the nanoseconds it is of.
    ///
    /// # Errors
    /// What the kernel answered.
    fn count_here(&self, kind: u32, config: u64) -> Result<(u64, u64), Errno>;
}

/// A group of events that is being counted.
pub trait Counters: Debug + Send {
    /// The counts since the opening, in the order of the events.
    ///
    /// # Errors
    /// What the kernel answered; ENODEV where the events have lost their CPU.
    fn read(&mut self) -> Result<Vec<u64>, Errno>;
}

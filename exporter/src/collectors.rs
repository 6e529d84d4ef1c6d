//! The one list of collectors. A new collector is a file beside this one and a line in [`COLLECTORS`].

pub mod cpufreq;
pub mod cpuidle;
pub mod cstate;
pub mod interrupts;
pub mod pressure;
pub mod rapl;
pub mod sched;
pub mod schedstat;
pub mod settings;
pub mod softirqs;
pub mod stat;
pub mod tasks;
pub mod throttle;

use crate::collector::Entry;

/// What the flags of single collectors say.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Flags {
    /// `--profile.*`.
    #[command(flatten)]
    pub settings: settings::Flags,
    /// `--collector.rapl.*`.
    #[command(flatten)]
    pub rapl: rapl::Flags,
    /// `--collector.tasks.*`.
    #[command(flatten)]
    pub tasks: tasks::Flags,
}

/// Every collector, in the order they run: settings first, so that what follows was read under the profile it is
/// published with.
pub static COLLECTORS: &[Entry] = &[
    Entry::configured::<settings::Settings>(),
    Entry::configured::<rapl::Rapl>(),
    Entry::of::<cstate::Cstate>(),
    Entry::of::<cpuidle::Cpuidle>(),
    Entry::of::<cpufreq::Cpufreq>(),
    Entry::of::<throttle::Throttle>(),
    Entry::of::<schedstat::Schedstat>(),
    Entry::of::<sched::Sched>(),
    Entry::of::<stat::Stat>(),
    Entry::of::<softirqs::Softirqs>(),
    Entry::of::<interrupts::Interrupts>(),
    Entry::of::<pressure::Pressure>(),
    Entry::configured::<tasks::Tasks>(),
];

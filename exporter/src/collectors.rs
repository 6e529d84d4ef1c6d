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

use crate::cardinality::Cardinality;
use crate::collector::Entry;

/// What collectors are told: what all of them publish, and the flags of single ones.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Flags {
    /// What is left of the label `cpu`: with `package` one series for each package, with `node` one for the host. Counters
    /// are summed; METRICS.md says of each gauge what is published.
    #[arg(
        long,
        value_name = "BY",
        value_enum,
        default_value = "cpu",
        help_heading = "Host"
    )]
    pub cardinality: Cardinality,
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

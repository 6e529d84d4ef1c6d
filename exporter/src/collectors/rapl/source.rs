//! Where energy is read.

use clap::ValueEnum;

/// Flags of this collector.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Flags {
    /// Where energy is read: in files of powercap, a wake-up a package and zone, or from the PMU `power` by perf, a wake-up
    /// a package. auto takes the one with fewer wake-ups of those that may be read.
    #[arg(
        long = "collector.rapl.source",
        value_name = "SOURCE",
        value_enum,
        default_value = "auto",
        help_heading = "Collectors"
    )]
    pub source: Source,
}

/// Where energy is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Source {
    /// What disturbs least of what may be read.
    #[default]
    Auto,
    /// Files of powercap.
    Powercap,
    /// The PMU `power`.
    Perf,
}

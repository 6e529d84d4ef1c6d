//! The CPUs a profile is about: all that are online, or those that `--profile.cpus` names.

use std::str::FromStr;

use crate::parse;
use crate::settings::Spread;

/// `--profile.*` as far as the collector is told.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Profile")]
pub struct Flags {
    /// The CPUs whose settings make the profile, as 0-3,8: those the database runs on. All that are online unless said.
    #[arg(id = "profile.cpus", long = "profile.cpus", value_name = "LIST")]
    pub(super) cpus: Option<Chosen>,
}

/// A list of CPUs, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen(Vec<u32>);

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cpus = parse::cpu_list(text).map_err(|error| error.problem)?;
        if cpus.is_empty() {
            return Err("a CPU is needed".to_owned());
        }
        cpus.sort_unstable();
        Ok(Chosen(cpus))
    }
}

impl Flags {
    /// How many of `cpus` there are, and how many the profile is about.
    pub(super) fn count(&self, cpus: &[u32]) -> Count {
        let is_chosen = |cpu: &&u32| match &self.cpus {
            Some(Chosen(chosen)) => chosen.binary_search(cpu).is_ok(),
            None => true,
        };
        Count {
            all: cpus.len(),
            chosen: cpus.iter().filter(is_chosen).count(),
        }
    }
}

/// A number of CPUs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    all: usize,
    chosen: usize,
}

/// The values of a setting on all CPUs, and on those the profile is about.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    pub(super) all: Spread,
    pub(super) chosen: Spread,
}

impl Values {
    /// A setting of the whole host.
    pub(super) fn of_host(value: &str) -> Self {
        Values {
            all: Spread::of_host(value),
            chosen: Spread::of_host(value),
        }
    }

    pub(super) fn add(&mut self, value: &str, cpus: Count) {
        self.all.add(value, cpus.all);
        self.chosen.add(value, cpus.chosen);
    }

    /// The part of the profile.
    pub(super) fn part(&self) -> Option<String> {
        self.chosen.one().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_counted_by_whether_they_are_chosen() {
        let all = Flags::default().count(&[0, 1, 2]);
        assert_eq!((all.all, all.chosen), (3, 3));
        let flags = Flags {
            cpus: Some("8,2-3".parse().unwrap()),
        };
        let some = flags.count(&[0, 1, 2, 3, 8]);
        assert_eq!((some.all, some.chosen), (5, 3));
    }

    #[test]
    fn a_list_needs_a_cpu() {
        assert!("".parse::<Chosen>().is_err());
        assert!("3-1".parse::<Chosen>().is_err());
        assert!("two".parse::<Chosen>().is_err());
    }
}

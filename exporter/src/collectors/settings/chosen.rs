//! The CPUs profiles are about: those of the host's own (`--profile.cpus`, else all), and those of each further set.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::preference;
use crate::parse;
use crate::root::Root;
use crate::settings::Spread;

/// A host that goes through more settings than this is being experimented on.
const DEFAULT_MAX: u16 = 64;

/// `--profile.*` as far as the collector and the ledger are told, and `--collector.epp`.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Profile")]
pub struct Flags {
    /// The CPUs whose settings make the host's profile, as 0-3,8: those the database runs on. All that are online unless
    /// said.
    #[arg(id = "profile.cpus", long = "profile.cpus", value_name = "LIST")]
    cpus: Option<Chosen>,

    /// More CPUs with a profile of their own, as db2=8-15: those of a second database. It is published as
    /// wakelag_profile_set_*, beside the host's, with its time and the energy of its packages. Repeat it for several.
    #[arg(id = "profile.set", long = "profile.set", value_name = "NAME=LIST")]
    sets: Vec<CpuSet>,

    /// Profiles whose time and energy are counted apart; further ones are counted together as `other`. Shared out evenly
    /// among the host and its sets, so that one that never settles takes nothing from the rest.
    #[arg(
        id = "profile.max",
        long = "profile.max",
        value_name = "N",
        default_value_t = DEFAULT_MAX,
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    max: u16,

    /// What only the CPU itself knows.
    #[command(flatten)]
    pub(super) preference: preference::Flags,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            cpus: None,
            sets: Vec::new(),
            max: DEFAULT_MAX,
            preference: preference::Flags::default(),
        }
    }
}

/// A list of CPUs, sorted, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen(Vec<u32>);

impl Chosen {
    fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }
}

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cpus = parse::cpu_list(text).map_err(|error| error.problem)?;
        if cpus.is_empty() {
            return Err("a CPU is needed".to_owned());
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Chosen(cpus))
    }
}

/// One `--profile.set`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CpuSet {
    name: String,
    cpus: Chosen,
}

impl FromStr for CpuSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, cpus) = text
            .split_once('=')
            .ok_or("a name and its CPUs are needed, as db2=8-15")?;
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !starts_well || name.len() > 63 || !name.chars().all(allowed) {
            return Err(format!(
                "`{name}` is not a name; use up to 63 letters, digits, `.`, `-` and `_`, a letter or digit first"
            ));
        }
        Ok(CpuSet {
            name: name.to_owned(),
            cpus: cpus.parse()?,
        })
    }
}

impl Flags {
    /// Whether the lists make sense together and on this host.
    ///
    /// # Errors
    /// Two sets have one name, or a CPU is none of this host's. One that is offline is fine: it may come.
    pub fn check(&self, root: &Root) -> Result<(), String> {
        let mut names = BTreeSet::new();
        if let Some(twice) = self.sets.iter().find(|set| !names.insert(&set.name)) {
            let name = &twice.name;
            return Err(format!(
                "--profile.set: two sets are named `{name}`; give each a name of its own"
            ));
        }
        let possible = root.parse_once(root.sys("devices/system/cpu/possible"), |text| {
            Ok((text.trim().to_owned(), parse::cpu_list(text)?))
        });
        // Where the kernel does not say which there are, nothing is known against a CPU.
        let Ok((range, possible)) = possible else {
            return Ok(());
        };
        let own = self
            .cpus
            .iter()
            .map(|cpus| ("--profile.cpus".to_owned(), cpus));
        let sets = self.sets.iter();
        let sets = sets.map(|set| (format!("--profile.set={}", set.name), &set.cpus));
        for (flag, Chosen(cpus)) in own.chain(sets) {
            if let Some(cpu) = cpus.iter().find(|cpu| !possible.contains(cpu)) {
                return Err(format!(
                    "{flag}: this host has no CPU {cpu}; its CPUs are {range}"
                ));
            }
        }
        Ok(())
    }

    /// The sets beside the host's own CPUs, in the order of [`Values::part`] from 1.
    pub fn set_names(&self) -> impl Iterator<Item = &str> {
        self.sets.iter().map(|set| &*set.name)
    }

    /// How many profiles the host and each of its sets may be counted under.
    pub fn profiles_each(&self) -> usize {
        (usize::from(self.max) / (self.sets.len() + 1)).max(1)
    }

    /// The CPUs of the set at `index` of [`Flags::set_names`].
    pub(super) fn cpus_of(&self, index: usize) -> &[u32] {
        self.sets.get(index).map_or(&[], |set| &set.cpus.0)
    }

    /// How many of `cpus` there are, and how many each profile is about.
    pub(super) fn count(&self, cpus: &[u32]) -> Count {
        let own = match &self.cpus {
            Some(chosen) => cpus.iter().filter(|cpu| chosen.contains(**cpu)).count(),
            None => cpus.len(),
        };
        let sets = self.sets.iter();
        let sets = sets.map(|set| cpus.iter().filter(|cpu| set.cpus.contains(**cpu)).count());
        Count {
            all: cpus.len(),
            chosen: std::iter::once(own).chain(sets).collect(),
        }
    }
}

/// A number of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Count {
    all: usize,
    /// Of them, those the host's own profile is about, and those of each set.
    chosen: Box<[usize]>,
}

impl Count {
    /// Whether none of them is of the profile at `index`.
    pub(super) fn is_empty(&self, index: usize) -> bool {
        self.chosen.get(index).is_none_or(|cpus| *cpus == 0)
    }
}

/// The values of a setting on all CPUs, and on those each profile is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Values {
    /// A setting of the whole host.
    Host(String),
    /// A setting of each CPU.
    Cpus {
        /// On all.
        all: Spread,
        /// On those of the host's own profile, and of each set.
        chosen: Vec<Spread>,
    },
}

impl Default for Values {
    fn default() -> Self {
        Values::Cpus {
            all: Spread::default(),
            chosen: Vec::new(),
        }
    }
}

impl Values {
    /// A setting of the whole host.
    pub(super) fn of_host(value: &str) -> Self {
        Values::Host(value.to_owned())
    }

    /// Counts `cpus` more CPUs at `value`. A setting of the whole host stays what it is.
    pub(super) fn add(&mut self, value: &str, cpus: &Count) {
        let Values::Cpus { all, chosen } = self else {
            return;
        };
        all.add(value, cpus.all);
        chosen.resize(cpus.chosen.len(), Spread::default());
        for (spread, cpus) in chosen.iter_mut().zip(&cpus.chosen) {
            spread.add(value, *cpus);
        }
    }

    /// The part of the profile at `index`: 0 is the host's own, and sets follow.
    pub(super) fn part(&self, index: usize) -> Option<String> {
        match self {
            Values::Host(value) => Some(value.clone()),
            Values::Cpus { chosen, .. } => chosen.get(index)?.one().map(str::to_owned),
        }
    }

    /// On all CPUs.
    pub(super) fn into_all(self) -> Spread {
        match self {
            Values::Host(value) => Spread::of_host(value),
            Values::Cpus { all, .. } => all,
        }
    }
}

#[cfg(test)]
mod tests;

//! How many series a host has: what is left of the label `cpu` on the way from the collectors to an answer.
//!
//! Source: /sys/devices/system/cpu/online and cpuN/topology/physical_package_id, once for each CPU that comes online.
//! A CPU that goes offline stays with its package; one that was never online has package `""`.
//! Kernel: Documentation/admin-guide/cputopology.rst.
//! Absent: where nothing tells packages apart the kernel has none, or -1: `""`.
//! Denied: nothing; all of it is world-readable.
//! Cost: A, two reads a CPU at the start; then the list of CPUs with each collector.

use std::collections::HashMap;

use clap::ValueEnum;
use serde::Serialize;
use toolkit::metric::{Family, Rollup};

use crate::cpus;
use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Paths, Root, absent};

/// What is left of the label `cpu`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cardinality {
    /// All of it: series for each CPU.
    #[default]
    Cpu,
    /// The label `package`.
    Package,
    /// Nothing: series for the host.
    Node,
}

impl Cardinality {
    /// The value of the flag.
    pub const fn name(self) -> &'static str {
        match self {
            Cardinality::Cpu => "cpu",
            Cardinality::Package => "package",
            Cardinality::Node => "node",
        }
    }

    /// What gives up the label, for one collector; `None` where it stays.
    pub fn rollup(self) -> Option<Rollup> {
        match self {
            Cardinality::Cpu => None,
            Cardinality::Package => Some(Rollup::new("cpu", Some("package"))),
            Cardinality::Node => Some(Rollup::new("cpu", None)),
        }
    }
}

/// The package of each CPU, as far as it is known.
#[derive(Debug)]
pub struct Packages {
    root: Root,
    online: Kept,
    /// The CPUs that were online at the last look.
    seen: Vec<u32>,
    of: HashMap<String, String>,
}

impl Packages {
    /// No CPU is known yet.
    pub fn new(paths: &Paths) -> Self {
        let root = Root::new(paths.clone());
        Packages {
            online: cpus::online_file(&root),
            root,
            seen: Vec::new(),
            of: HashMap::new(),
        }
    }

    /// The families of a collector without the label that `rollup` gives up.
    pub fn roll(&mut self, rollup: &mut Rollup, families: Vec<Family>) -> Vec<Family> {
        if rollup.has_groups() {
            self.look();
        }
        let package = |cpu: &str| self.of.get(cpu).map_or("", String::as_str);
        rollup.roll(families, package)
    }

    /// Looks up the CPUs that came online since the last look.
    fn look(&mut self) {
        // Where the list cannot be read collectors say so.
        let Ok(online) = self.root.parse(&mut self.online, parse::cpu_list) else {
            return;
        };
        if online == self.seen {
            return;
        }
        for cpu in &online {
            if self.seen.binary_search(cpu).is_err() {
                let path = format!("devices/system/cpu/cpu{cpu}/topology/physical_package_id");
                match self.root.parse_once(self.root.sys(&path), package_id) {
                    Ok(Some(id)) => drop(self.of.insert(cpu.to_string(), id.to_string())),
                    Ok(None) => {}
                    Err(error) if is_absent(&error) => {}
                    Err(error) => tracing::warn!(cpu, %error, "published under package=\"\""),
                }
            }
        }
        self.seen = online;
    }
}

fn is_absent(error: &Error) -> bool {
    error.errno().is_some_and(absent)
}

/// `physical_package_id`: the package, unless the kernel does not know it.
///
/// # Errors
/// Neither a number nor -1.
pub fn package_id(text: &str) -> Result<Option<u64>, ParseError> {
    match text.trim() {
        "-1" => Ok(None),
        _ => parse::number(text).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_a_number_or_unknown() {
        // Linux 6.12 on x86; an arm64 server numbers packages as its firmware does.
        assert_eq!(package_id("0\n"), Ok(Some(0)));
        assert_eq!(package_id("36\n"), Ok(Some(36)));
        assert_eq!(package_id("-1\n"), Ok(None));
        for bad in ["", "\n", "-2\n", "0 1\n", "x\n", "18446744073709551616\n"] {
            assert!(package_id(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_are_those_of_the_flag() {
        for one in Cardinality::value_variants() {
            let named = one.to_possible_value().unwrap();
            assert_eq!(named.get_name(), one.name());
        }
    }
}

//! Further sets of CPUs with a profile each.

use std::collections::BTreeSet;

use toolkit::metric::{Metric, Sink};

use super::chosen::Flags;
use crate::parse;
use crate::root::Root;
use crate::settings::{PROFILE_SET_INFO, Profile};

pub(super) static CPUS: Metric<2> = Metric::gauge(
    "wakelag_profile_set_cpus",
    "CPUs of the set by whether they are online: a set none of whose CPUs is has the profile offline.",
    &["set", "state"],
);
/// The packages a set lies on.
pub static PACKAGE_INFO: Metric<2> = Metric::gauge(
    "wakelag_profile_set_package_info",
    "A package on which online CPUs of the set lie; it is these packages whose energy is counted for the set.",
    &["set", "package"],
);

/// Where a set lies, as long as the same CPUs are online.
#[derive(Debug, Clone)]
pub(super) struct Place {
    name: String,
    online: usize,
    offline: usize,
    packages: BTreeSet<u64>,
}

impl Place {
    /// Where each set of `flags` lies among the CPUs `online`.
    pub(super) fn scan(root: &Root, flags: &Flags, online: &[u32]) -> Vec<Self> {
        let place = |(index, name): (usize, &str)| {
            let cpus = flags.cpus_of(index);
            let (online, offline): (Vec<u32>, Vec<u32>) =
                cpus.iter().partition(|cpu| online.contains(cpu));
            let package = |cpu: &u32| {
                let file = format!("devices/system/cpu/cpu{cpu}/topology/physical_package_id");
                root.optional(root.parse_once(root.sys(&file), parse::number))
            };
            Place {
                name: name.to_owned(),
                packages: online.iter().filter_map(package).collect(),
                online: online.len(),
                offline: offline.len(),
            }
        };
        flags.set_names().enumerate().map(place).collect()
    }

    /// Whether none of its CPUs is online.
    pub(super) fn is_offline(&self) -> bool {
        self.online == 0
    }

    /// Publishes the set, whose CPUs are set as `profile` says.
    pub(super) fn emit(&self, profile: &Profile, out: &mut Sink) {
        let (set, name) = (&*self.name, profile.name());
        let [governor, epp, boost, idle_limit, qos, smt] = profile.parts();
        out.put(
            &PROFILE_SET_INFO,
            [set, &name, governor, epp, boost, idle_limit, qos, smt],
            1.0,
        );
        out.put(&CPUS, [set, "online"], self.online as f64);
        out.put(&CPUS, [set, "offline"], self.offline as f64);
        for package in &self.packages {
            out.put(&PACKAGE_INFO, [set, &package.to_string()], 1.0);
        }
    }
}

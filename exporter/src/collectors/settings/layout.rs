//! Which files hold settings on this host: found once, and again when CPUs or drivers come and go.

use std::sync::Arc;

use super::on_off;
use crate::cpus::{self, IdleState};
use crate::parse;
use crate::root::{Kept, Root, absent};
use crate::settings::Spread;

/// Files with settings, by policy and by CPU.
#[derive(Debug, Default)]
pub(super) struct Layout {
    online: Vec<u32>,
    driver: Option<String>,
    /// A file has gone since: look again next time.
    stale: bool,
    policies: Vec<PolicyFiles>,
    idle: Vec<IdleFiles>,
}

#[derive(Debug)]
struct PolicyFiles {
    cpus: usize,
    driver: String,
    governor: Kept,
    epp: Option<Kept>,
    boost: Option<Kept>,
}

#[derive(Debug)]
struct IdleFiles {
    label: String,
    states: Arc<Vec<IdleState>>,
    disable: Vec<Kept>,
}

/// The settings of all policies.
#[derive(Debug, Default)]
pub(super) struct Frequency {
    pub(super) governor: Spread,
    pub(super) driver: Spread,
    pub(super) epp: Spread,
    pub(super) boost: Option<Spread>,
}

/// The idle states of one CPU.
#[derive(Debug)]
pub(super) struct CpuIdle {
    pub(super) label: String,
    pub(super) states: Arc<Vec<IdleState>>,
    /// Whether each is switched off; nothing where that could not be read.
    pub(super) disabled: Vec<Option<bool>>,
}

impl CpuIdle {
    /// The deepest state that is known to be enabled.
    pub(super) fn deepest_enabled(&self) -> Option<&IdleState> {
        let states = self.states.iter().zip(&self.disabled);
        states
            .filter(|(_, disabled)| **disabled == Some(false))
            .map(|(state, _)| state)
            .next_back()
    }
}

impl Layout {
    /// Whether the layout still is that of this host.
    pub(super) fn fits(&self, online: &[u32], driver: &Option<String>) -> bool {
        !self.stale && self.online == online && self.driver == *driver
    }

    /// Looks for the files with settings of the CPUs `online`.
    pub(super) fn scan(root: &Root, online: Vec<u32>, driver: Option<String>) -> Self {
        let policies = root.optional(cpus::policies(root)).unwrap_or_default();
        let policies = policies
            .into_iter()
            .filter_map(|policy| root.tolerate(PolicyFiles::scan(root, &policy)));
        let idle = online.iter().filter_map(|cpu| {
            let states = root.optional(cpus::idle_states(root, *cpu))?;
            let disable = |s: &IdleState| root.sys(&format!("{}/disable", s.dir));
            Some(IdleFiles {
                label: cpu.to_string(),
                disable: states.iter().map(disable).collect(),
                states: Arc::new(states),
            })
        });
        Layout {
            stale: false,
            policies: policies.collect(),
            idle: idle.collect(),
            online,
            driver,
        }
    }

    pub(super) fn read_policies(&mut self, root: &Root) -> Frequency {
        let mut frequency = Frequency::default();
        for policy in &mut self.policies {
            match root.parse(&mut policy.governor, parse::word) {
                Ok(governor) => frequency.governor.add(governor, policy.cpus),
                Err(error) => {
                    self.stale = true;
                    root.tolerate::<()>(Err(error));
                }
            }
            frequency.driver.add(policy.driver.clone(), policy.cpus);
            if let Some(epp) = &mut policy.epp
                && let Some(epp) = root.tolerate(root.parse(epp, parse::word))
            {
                frequency.epp.add(epp, policy.cpus);
            }
            if let Some(boost) = &mut policy.boost
                && let Some(boost) = root.tolerate(root.parse(boost, parse::switch))
            {
                let spread = frequency.boost.get_or_insert_default();
                spread.add(on_off(boost), policy.cpus);
            }
        }
        frequency
    }

    pub(super) fn read_idle(&mut self, root: &Root) -> Vec<CpuIdle> {
        let mut idle = Vec::with_capacity(self.idle.len());
        for cpu in &mut self.idle {
            let disabled = cpu.disable.iter_mut().map(|file| {
                let disabled = root.parse(file, parse::switch);
                let gone = |error: &crate::root::Error| error.errno().is_some_and(absent);
                self.stale |= disabled.as_ref().is_err_and(gone);
                root.tolerate(disabled)
            });
            idle.push(CpuIdle {
                disabled: disabled.collect(),
                label: cpu.label.clone(),
                states: Arc::clone(&cpu.states),
            });
        }
        idle
    }
}

impl PolicyFiles {
    fn scan(root: &Root, policy: &cpus::Policy) -> Result<Self, crate::root::Error> {
        let file = |name: &str| root.sys(&format!("{}/{name}", policy.dir));
        let driver = root.parse_once(file("scaling_driver"), parse::word)?;
        let names = root.names(&policy.dir)?;
        let has = |name: &str| names.iter().any(|n| n == name);
        let epp = "energy_performance_preference";
        Ok(PolicyFiles {
            cpus: policy.cpus.len(),
            governor: file("scaling_governor"),
            epp: (has(epp) && epp_is_free(root, &driver)).then(|| file(epp)),
            boost: has("boost").then(|| file("boost")),
            driver,
        })
    }
}

/// Whether the energy preference is read from memory. There is no way to tell but the driver and the release: before
/// Linux 6.14 amd-pstate asked the CPU, and intel_pstate does to this day.
fn epp_is_free(root: &Root, driver: &str) -> bool {
    if driver != "amd-pstate-epp" {
        return false;
    }
    let release = root.parse_once(root.proc("sys/kernel/osrelease"), parse::word);
    let release = root.tolerate(release).unwrap_or_default();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or_default());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

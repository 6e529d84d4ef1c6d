//! Which files hold settings on this host: found once, and again when CPUs or drivers come and go.

use std::cell::OnceCell;
use std::sync::Arc;

use nix::errno::Errno;

use super::chosen::{Count, Flags, Values};
use super::preference;
use super::sets::Place;
use super::{on_off, qos};
use crate::cpus::{self, IdleState};
use crate::parse::{self, ParseError};
use crate::root::{Dir, Error, Kept, Root, absent};

/// Files with settings, by policy and by CPU.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The CPUs online at the scan.
    pub(super) online: Vec<u32>,
    driver: Option<String>,
    /// A file has gone since: look again next time.
    stale: bool,
    policies: Vec<PolicyFiles>,
    idle: Vec<IdleFiles>,
    /// What interrupts a CPU.
    pub(super) preferences: Vec<preference::Files>,
    pub(super) sets: Vec<Place>,
    /// None of the CPUs of the host's own profile is online.
    pub(super) is_offline: bool,
}

#[derive(Debug)]
struct PolicyFiles {
    cpus: Count,
    /// File and text.
    driver: Option<(Kept, String)>,
    governor: Option<Kept>,
    epp: Option<Kept>,
    boost: Option<Kept>,
}

#[derive(Debug)]
struct IdleFiles {
    label: String,
    cpus: Count,
    states: Arc<Vec<IdleState>>,
    disable: Vec<Option<Kept>>,
    resume_latency: Option<Kept>,
}

/// The settings of all policies.
#[derive(Debug, Default)]
pub(super) struct Frequency {
    pub(super) governor: Values,
    pub(super) driver: Values,
    pub(super) epp: Values,
    pub(super) boost: Option<Values>,
}

/// The idle states of one CPU.
#[derive(Debug)]
pub(super) struct CpuIdle {
    pub(super) label: String,
    /// One, and whether the profile is about it.
    pub(super) cpus: Count,
    pub(super) states: Arc<Vec<IdleState>>,
    /// Whether each is switched off; nothing where that could not be read.
    pub(super) disabled: Vec<Option<bool>>,
    /// What PM QoS allows this CPU alone to take for waking up, in microseconds.
    pub(super) resume_limit_us: Option<u64>,
    /// The tighter of that and the limit of the host.
    pub(super) limit_us: Option<u64>,
}

impl CpuIdle {
    /// The deepest state that is neither switched off nor slower than the limit; nothing where a deeper one may be allowed
    /// too for all that is known. The first state is always allowed: governors fall back to it.
    pub(super) fn deepest_allowed(&self) -> Option<&IdleState> {
        let too_slow = |state: &IdleState| {
            let slower = state.exit_latency_us.zip(self.limit_us);
            state.index > 0 && slower.is_some_and(|(us, limit_us)| us > limit_us)
        };
        let mut deepest_first = self.states.iter().zip(&self.disabled).rev();
        let (state, disabled) =
            deepest_first.find(|(state, disabled)| **disabled != Some(true) && !too_slow(state))?;
        disabled.is_some().then_some(state)
    }
}

impl Layout {
    /// Whether the layout still is that of this host.
    pub(super) fn fits(&mut self, root: &Root, online: &[u32], driver: &Option<String>) -> bool {
        !self.stale
            && self.online == online
            && self.driver == *driver
            && self.has_scaling_driver(root)
    }

    /// Whether the frequency driver is the one of before. There is one for all policies: one is asked.
    fn has_scaling_driver(&mut self, root: &Root) -> bool {
        let mut drivers = self.policies.iter_mut().filter_map(|p| p.driver.as_mut());
        drivers
            .next()
            .is_none_or(|(file, driver)| root.parse(file, parse::word).as_ref() == Ok(driver))
    }

    /// Looks for the files with settings of the CPUs `online`.
    pub(super) fn scan(
        root: &Root,
        flags: &Flags,
        online: Vec<u32>,
        driver: Option<String>,
    ) -> Self {
        let errors_before = root.tolerated();
        let policies = root.optional(cpus::policies(root)).unwrap_or_default();
        let epp_is_free = OnceCell::new();
        let policies = policies.into_iter().filter_map(|policy| {
            root.tolerate(PolicyFiles::scan(root, flags, &policy, &epp_is_free))
        });
        let (policies, preferences): (Vec<_>, Vec<_>) = policies.unzip();
        let idle = online
            .iter()
            .filter_map(|cpu| IdleFiles::scan(root, flags, *cpu));
        let idle = idle.collect();
        Layout {
            stale: root.tolerated() > errors_before,
            policies,
            idle,
            preferences: preferences.into_iter().flatten().collect(),
            sets: Place::scan(root, flags, &online),
            is_offline: flags.count(&online).is_empty(0),
            online,
            driver,
        }
    }

    pub(super) fn read_policies(&mut self, root: &Root) -> Frequency {
        let stale = &mut self.stale;
        let mut frequency = Frequency::default();
        for policy in &mut self.policies {
            if let Some(governor) = read(root, &mut policy.governor, parse::word, stale) {
                frequency.governor.add(&governor, &policy.cpus);
            }
            if let Some((_, driver)) = &policy.driver {
                frequency.driver.add(driver, &policy.cpus);
            }
            if let Some(epp) = read(root, &mut policy.epp, parse::word, stale) {
                frequency.epp.add(&epp, &policy.cpus);
            }
            if let Some(boost) = read(root, &mut policy.boost, parse::switch, stale) {
                let spread = frequency.boost.get_or_insert_default();
                spread.add(on_off(boost), &policy.cpus);
            }
        }
        frequency
    }

    /// The idle states of all CPUs under a `limit_us` of the host.
    pub(super) fn read_idle(&mut self, root: &Root, limit_us: Option<u64>) -> Vec<CpuIdle> {
        let stale = &mut self.stale;
        let mut idle = Vec::with_capacity(self.idle.len());
        for cpu in &mut self.idle {
            let files = cpu.disable.iter_mut();
            let disabled = files.map(|file| read(root, file, parse::switch, stale));
            let disabled = disabled.collect();
            let resume_limit_us = read(root, &mut cpu.resume_latency, qos::resume_latency, stale);
            let resume_limit_us = resume_limit_us.flatten();
            idle.push(CpuIdle {
                label: cpu.label.clone(),
                cpus: cpu.cpus.clone(),
                states: Arc::clone(&cpu.states),
                disabled,
                resume_limit_us,
                limit_us: qos::tighter(limit_us, resume_limit_us),
            });
        }
        // A driver that came back may have other states and policies.
        self.stale |= root.take_replaced();
        idle
    }
}

/// Reads a file that was there at the scan. Where it has gone, or its policy has gone offline, the layout is `stale`.
fn read<T>(
    root: &Root,
    file: &mut Option<Kept>,
    parser: impl FnOnce(&str) -> Result<T, ParseError>,
    stale: &mut bool,
) -> Option<T> {
    let result = root.parse(file.as_mut()?, parser);
    let errno = result.as_ref().err().and_then(Error::errno);
    *stale |= errno.is_some_and(|errno| absent(errno) || errno == Errno::EBUSY);
    root.tolerate(result)
}

impl IdleFiles {
    fn scan(root: &Root, flags: &Flags, cpu: u32) -> Option<Self> {
        let states = root.optional(cpus::idle_states(root, cpu))?;
        let (states, dirs): (Vec<_>, Vec<_>) = states.into_iter().unzip();
        let disable = |dir: &Dir| dir.file(root, "disable");
        let power = Dir::list(root, format!("devices/system/cpu/cpu{cpu}/power"));
        let power = root.optional(power);
        Some(IdleFiles {
            label: cpu.to_string(),
            cpus: flags.count(&[cpu]),
            disable: dirs.iter().map(disable).collect(),
            resume_latency: power.and_then(|dir| dir.file(root, "pm_qos_resume_latency_us")),
            states: Arc::new(states),
        })
    }
}

impl PolicyFiles {
    fn scan(
        root: &Root,
        flags: &Flags,
        policy: &cpus::Policy,
        epp_is_free: &OnceCell<bool>,
    ) -> Result<(Self, Option<preference::Files>), Error> {
        let dir = Dir::list(root, policy.dir.clone())?;
        let driver = dir.file(root, "scaling_driver").and_then(|mut file| {
            let driver = root.tolerate(root.parse(&mut file, parse::word))?;
            Some((file, driver))
        });
        let epp = dir.file(root, "energy_performance_preference");
        let is_amd = matches!(&driver, Some((_, name)) if name == "amd-pstate-epp");
        let is_free = is_amd && *epp_is_free.get_or_init(|| amd_epp_is_free(root));
        let (epp, dear_epp) = if is_free { (epp, None) } else { (None, epp) };
        let cpus = flags.count(&policy.cpus);
        let preference = preference::Files::scan(root, policy, cpus.clone(), dear_epp);
        let files = PolicyFiles {
            cpus,
            governor: dir.file(root, "scaling_governor"),
            epp,
            boost: dir.file(root, "boost"),
            driver,
        };
        Ok((files, preference))
    }
}

/// Whether amd-pstate reads the energy preference from memory: before Linux 6.14 it asked the CPU, and intel_pstate does to
/// this day. The release is what there is to tell by: an interrupt of some microseconds cannot be told from a read that
/// was preempted, as the 10 ms of `scaling_cur_freq` can, and trying would be the disturbance itself. It errs to one side
/// only: a distribution's older kernel that has the change is taken for one that has not.
fn amd_epp_is_free(root: &Root) -> bool {
    // A release that is not understood is taken for an old one.
    let lenient = |text: &str| Ok(parse::release(text).ok());
    let release = root.parse_once(root.proc("sys/kernel/osrelease"), lenient);
    root.optional(release)
        .flatten()
        .is_some_and(|release| release >= (6, 14))
}

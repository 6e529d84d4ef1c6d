//! Settings of the whole host, one file each.

use nix::errno::Errno;

use super::boot::Boot;
use super::chosen::Values;
use super::on_off;
use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Root, absent};
use crate::settings::{
    AMD_PSTATE, CMDLINE, CPUIDLE_DRIVER, CPUIDLE_GOVERNOR, INTEL_PSTATE, MITIGATIONS, PREEMPT,
    SCHED_EXT, SCHED_FEATURES, SMT, Setting, Spread,
};

#[derive(Debug)]
pub(super) struct HostFiles {
    pub(super) online: Kept,
    cpuidle_driver: Kept,
    cpuidle_governor: Kept,
    no_turbo: Kept,
    boost: Kept,
    smt: Kept,
    intel_pstate: Kept,
    amd_pstate: Kept,
    preempt: Kept,
    sched_features: Kept,
    /// Where they were before Linux 5.13.
    old_sched_features: Kept,
    sched_ext: Kept,
    sched_ext_ops: Kept,
    /// What was read at the last scan, if all of it could be.
    boot: Option<Boot>,
}

/// What is set for the whole host; nothing where there is no such setting.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) cpuidle_driver: Option<String>,
    pub(super) smt: Option<String>,
    /// Name of each feature of the scheduler, and whether it is on.
    pub(super) sched_features: Vec<(String, bool)>,
    cpuidle_governor: Option<String>,
    intel_pstate: Option<String>,
    amd_pstate: Option<String>,
    preempt: Option<String>,
    sched_ext: Option<String>,
    boot: Boot,
}

impl HostFiles {
    pub(super) fn new(root: &Root) -> Self {
        let cpu = |file: &str| root.sys(&format!("devices/system/cpu/{file}"));
        HostFiles {
            online: crate::cpus::online_file(root),
            cpuidle_driver: cpu("cpuidle/current_driver"),
            cpuidle_governor: cpu("cpuidle/current_governor"),
            no_turbo: cpu("intel_pstate/no_turbo"),
            boost: cpu("cpufreq/boost"),
            smt: cpu("smt/control"),
            intel_pstate: cpu("intel_pstate/status"),
            amd_pstate: cpu("amd_pstate/status"),
            preempt: root.sys("kernel/debug/sched/preempt"),
            sched_features: root.sys("kernel/debug/sched/features"),
            old_sched_features: root.sys("kernel/debug/sched_features"),
            sched_ext: root.sys("kernel/sched_ext/state"),
            sched_ext_ops: root.sys("kernel/sched_ext/root/ops"),
            boot: None,
        }
    }

    /// CPUs have come or gone, and SMT may have been switched: mitigations are to be asked for again.
    pub(super) fn rescan(&mut self) {
        self.boot = None;
    }

    pub(super) fn read_driver(&mut self, root: &Root) -> Option<String> {
        root.optional(root.parse(&mut self.cpuidle_driver, parse::word))
    }

    pub(super) fn read(&mut self, root: &Root, cpuidle_driver: Option<String>) -> Host {
        let word = |file: &mut Kept| root.optional(root.parse(file, parse::word));
        let boot = self.read_boot(root);
        // debugfs is for root only, and lockdown closes it to root too.
        let preempt = root.permitted(root.parse(&mut self.preempt, preempt));
        let features = root.permitted(self.read_sched_features(root));
        let sched_ext = word(&mut self.sched_ext);
        let sched_ext = match sched_ext.as_deref() {
            Some("enabled") => word(&mut self.sched_ext_ops).or(sched_ext),
            _ => sched_ext,
        };
        // Without a driver the kernel still names a governor, which then governs nothing.
        let has_driver = cpuidle_driver.as_ref().is_some_and(|name| name != "none");
        Host {
            smt: root.optional(root.parse(&mut self.smt, smt)),
            cpuidle_governor: word(&mut self.cpuidle_governor).filter(|_| has_driver),
            intel_pstate: word(&mut self.intel_pstate),
            amd_pstate: word(&mut self.amd_pstate),
            preempt: preempt.or_else(|| boot.preempt.clone()),
            sched_features: features.unwrap_or_default(),
            cpuidle_driver,
            sched_ext,
            boot,
        }
    }

    fn read_sched_features(&mut self, root: &Root) -> Result<Vec<(String, bool)>, Error> {
        match root.parse(&mut self.sched_features, features) {
            Err(error) if error.errno().is_some_and(absent) => {
                root.parse(&mut self.old_sched_features, features)
            }
            other => other,
        }
    }

    fn read_boot(&mut self, root: &Root) -> Boot {
        if let Some(boot) = &self.boot {
            return boot.clone();
        }
        let errors_before = root.tolerated();
        let boot = Boot::read(root);
        self.boot = (root.tolerated() == errors_before).then(|| boot.clone());
        boot
    }

    /// Boost, given the switches of the `policies`. The switch of the whole host rules over them: intel_pstate has its
    /// own, which answers EAGAIN when that driver is off, and the others share one.
    pub(super) fn read_boost(&mut self, root: &Root, policies: Option<Values>) -> Values {
        let no_turbo = root.parse(&mut self.no_turbo, parse::switch);
        let no_turbo = match no_turbo {
            Err(error) if error.errno() == Some(Errno::EAGAIN) => None,
            other => root.optional(other),
        };
        let host = match no_turbo {
            Some(no_turbo) => Some(!no_turbo),
            None => root.optional(root.parse(&mut self.boost, parse::switch)),
        };
        let of_host = host.map(|on| Values::of_host(on_off(on)));
        let values = match host {
            Some(false) => of_host,
            _ => policies.or(of_host),
        };
        values.unwrap_or_default()
    }
}

impl Host {
    /// The settings as published.
    pub(super) fn spreads(&self) -> Vec<(&'static Setting, Spread)> {
        let features = &self.sched_features;
        let digest = (!features.is_empty()).then(|| digest(features));
        let values = [
            (&CPUIDLE_DRIVER, self.cpuidle_driver.as_deref()),
            (&CPUIDLE_GOVERNOR, self.cpuidle_governor.as_deref()),
            (&SMT, self.smt.as_deref()),
            (&INTEL_PSTATE, self.intel_pstate.as_deref()),
            (&AMD_PSTATE, self.amd_pstate.as_deref()),
            (&PREEMPT, self.preempt.as_deref()),
            (&SCHED_FEATURES, digest.as_deref()),
            (&SCHED_EXT, self.sched_ext.as_deref()),
            (&MITIGATIONS, self.boot.mitigations),
            (&CMDLINE, self.boot.cmdline.as_deref()),
        ];
        let spread = |value: Option<&str>| value.map(Spread::of_host).unwrap_or_default();
        values
            .into_iter()
            .map(|(setting, value)| (setting, spread(value)))
            .collect()
    }
}

/// `smt/control`: a word, or since Linux 6.8 possibly the number of threads a core runs.
fn smt(text: &str) -> Result<String, ParseError> {
    let word = parse::word(text)?;
    match word.parse::<u32>() {
        Ok(1) => Ok("off".to_owned()),
        Ok(_) => Ok("on".to_owned()),
        Err(_) if SMT.known.contains(&word.as_str()) => Ok(word),
        Err(_) => Err(ParseError::new(1, format!("{word:?} is no state of SMT"))),
    }
}

/// `debug/sched/preempt`: what is possible, with what is in force in parentheses: `none (voluntary) full lazy`.
fn preempt(text: &str) -> Result<String, ParseError> {
    let in_force = text
        .split_ascii_whitespace()
        .find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    let known = in_force.filter(|word| PREEMPT.known.contains(word));
    known
        .map(str::to_owned)
        .ok_or_else(|| ParseError::new(1, format!("{text:?} names no preemption in force")))
}

/// `debug/sched/features`: names in capitals, with `NO_` in front of those that are off.
fn features(text: &str) -> Result<Vec<(String, bool)>, ParseError> {
    let is_name = |name: &str| {
        let fits = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        name.bytes().all(fits)
    };
    let mut features = Vec::new();
    for word in text.split_ascii_whitespace() {
        if !is_name(word) {
            let problem = format!("{word:?} is no feature of the scheduler");
            return Err(ParseError::new(1, problem));
        }
        features.push(match word.strip_prefix("NO_") {
            Some(name) => (name.to_owned(), false),
            None => (word.to_owned(), true),
        });
    }
    if features.is_empty() {
        return Err(ParseError::new(1, "empty"));
    }
    Ok(features)
}

/// Eight digits that are the same for the same features (FNV-1a), on every host and in every version of this program.
fn digest(features: &[(String, bool)]) -> String {
    let text = features
        .iter()
        .flat_map(|(name, on)| [if *on { " " } else { " NO_" }, name]);
    let hash = text.flat_map(str::bytes).fold(0x811c_9dc5_u32, |hash, b| {
        (hash ^ u32::from(b)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests;

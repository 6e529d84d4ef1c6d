//! The power settings in force, and the profile they make.
//!
//! Source: `cpu/cpufreq/policyN/scaling_{governor,driver}` and `energy_performance_preference`, `cpu/cpufreq/boost`,
//! `cpu/intel_pstate/no_turbo`, `cpu/cpufreq/policyN/boost`, `cpu/cpuidle/current_*`,
//! `cpu/cpuN/cpuidle/stateM/{name,latency (us),disable}`, `cpu/smt/control`, all under `/sys/devices/system`.
//! Kernel: Documentation/admin-guide/pm/{cpufreq,cpuidle,intel_pstate,amd-pstate}.rst.
//! Absent: the part, and with all parts absent the profile is `unknown`.
//! Denied: nothing; all of it is world-readable.
//! Cost: A. The preference is read only where the kernel keeps it in memory: intel_pstate asks the CPU itself, and so
//! did amd-pstate before Linux 6.14.

mod history;
mod layout;

use nix::errno::Errno;
use toolkit::metric::{Metric, Sink};

use self::history::History;
use self::layout::{CpuIdle, Layout};
use crate::collector::{Collector, Cost, Info};
use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Root};
use crate::settings::{
    BOOST, CPUIDLE_DRIVER, CPUIDLE_GOVERNOR, EPP, GOVERNOR, IDLE_LIMIT, PROFILE_INFO, Profile,
    SCALING_DRIVER, SMT, Setting, Spread,
};

static RATIO: Metric<2> = Metric::gauge(
    "wakelag_setting_ratio",
    "Share of online CPUs at this value of the setting; 0 or 1 for a setting of the whole host.",
    &["setting", "value"],
);
static LAST_CHANGE: Metric<1> = Metric::gauge(
    "wakelag_setting_last_change_timestamp_seconds",
    "When a scrape first saw the present value of the setting after another one; 0 if it has not changed since the start.",
    &["setting"],
);
static DISABLED: Metric<3> = Metric::gauge(
    "wakelag_cpuidle_state_disabled",
    "Whether the idle state was switched off for this CPU.",
    &["cpu", "state", "name"],
);
static MAX_EXIT_LATENCY: Metric<1> = Metric::gauge(
    "wakelag_cpuidle_max_enabled_exit_latency_seconds",
    "The slowest wake-up still allowed on this CPU: the exit latency of its deepest enabled idle state.",
    &["cpu"],
);

/// Settings collector.
#[derive(Debug, Default)]
pub struct Settings {
    files: Option<Files>,
    layout: Option<Layout>,
    history: History,
}

#[derive(Debug)]
struct Files {
    online: Kept,
    cpuidle_driver: Kept,
    cpuidle_governor: Kept,
    no_turbo: Kept,
    boost: Kept,
    smt: Kept,
}

/// What is set now.
#[derive(Debug)]
pub struct Reading {
    spreads: Vec<(&'static Setting, Spread)>,
    profile: Profile,
    idle: Vec<CpuIdle>,
}

impl Collector for Settings {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "settings",
        about: "governor, boost, idle limit, SMT and the profile they make (/sys/devices/system/cpu)",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            RATIO.desc(),
            LAST_CHANGE.desc(),
            PROFILE_INFO.desc(),
            DISABLED.desc(),
            MAX_EXIT_LATENCY.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let files = self.files.get_or_insert_with(|| Files::new(root));
        let online = root.parse(&mut files.online, parse::cpu_list)?;
        let driver = root.optional(root.parse(&mut files.cpuidle_driver, parse::word));
        let governor = root.optional(root.parse(&mut files.cpuidle_governor, parse::word));
        let layout = self.layout.get_or_insert_default();
        if !layout.fits(root, &online, &driver) {
            *layout = Layout::scan(root, online, driver.clone());
        }
        let frequency = layout.read_policies(root);
        let idle = layout.read_idle(root);
        let boost = files.read_boost(root, frequency.boost);
        let smt = root.optional(root.parse(&mut files.smt, smt));
        let (mut limit, mut limit_with_latency) = (Spread::default(), Spread::default());
        for deepest in idle.iter().filter_map(CpuIdle::deepest_enabled) {
            limit.add(deepest.name.clone(), 1);
            let name = &deepest.name;
            let with_latency = deepest.exit_latency_us.map(|us| format!("{name}@{us}us"));
            limit_with_latency.add(with_latency.unwrap_or_else(|| name.clone()), 1);
        }
        let boost = boost.unwrap_or_default();
        let host = |value: Option<String>| value.map(Spread::of_host).unwrap_or_default();
        let part = |spread: &Spread| spread.one().map(str::to_owned);
        let profile = Profile {
            governor: part(&frequency.governor),
            epp: part(&frequency.epp),
            boost: part(&boost),
            idle_limit: part(&limit_with_latency),
            smt: smt.clone(),
        };
        // Without a driver the kernel still names a governor, which then governs nothing.
        let governor = governor.filter(|_| driver.as_deref().is_some_and(|name| name != "none"));
        Ok(Reading {
            spreads: vec![
                (&GOVERNOR, frequency.governor),
                (&SCALING_DRIVER, frequency.driver),
                (&EPP, frequency.epp),
                (&BOOST, boost),
                (&CPUIDLE_DRIVER, host(driver)),
                (&CPUIDLE_GOVERNOR, host(governor)),
                (&IDLE_LIMIT, limit),
                (&SMT, host(smt)),
            ],
            profile,
            idle,
        })
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        let Profile {
            governor,
            epp,
            boost,
            idle_limit,
            smt,
        } = &reading.profile;
        let part = |part: &'_ Option<String>| part.clone().unwrap_or_default();
        let labels = [
            reading.profile.name(),
            part(governor),
            part(epp),
            part(boost),
            part(idle_limit),
            part(smt),
        ];
        out.put(&PROFILE_INFO, labels.each_ref().map(String::as_str), 1.0);
        for (setting, spread) in reading.spreads {
            self.history.observe(setting, spread);
        }
        for (setting, past) in self.history.settings() {
            for (value, share) in past.shares() {
                out.put(&RATIO, [setting, value], share);
            }
            out.put(&LAST_CHANGE, [setting], past.last_change_seconds());
        }
        for cpu in &reading.idle {
            for (state, disabled) in cpu.states.iter().zip(&cpu.disabled) {
                let Some(disabled) = disabled else { continue };
                let labels = [&*cpu.label, &*state.index.to_string(), &*state.name];
                out.put(&DISABLED, labels, f64::from(u8::from(*disabled)));
            }
            let deepest = cpu.deepest_enabled();
            if let Some(us) = deepest.and_then(|deepest| deepest.exit_latency_us) {
                out.put(&MAX_EXIT_LATENCY, [&cpu.label], us as f64 / 1e6);
            }
        }
    }
}

impl Files {
    fn new(root: &Root) -> Self {
        let cpu = |file: &str| root.sys(&format!("devices/system/cpu/{file}"));
        Files {
            online: crate::cpus::online_file(root),
            cpuidle_driver: cpu("cpuidle/current_driver"),
            cpuidle_governor: cpu("cpuidle/current_governor"),
            no_turbo: cpu("intel_pstate/no_turbo"),
            boost: cpu("cpufreq/boost"),
            smt: cpu("smt/control"),
        }
    }

    /// Boost, given the switches of the `policies`. The switch of the whole host rules over them: intel_pstate has its
    /// own, which answers EAGAIN when that driver is off, and the others share one.
    fn read_boost(&mut self, root: &Root, policies: Option<Spread>) -> Option<Spread> {
        let no_turbo = root.parse(&mut self.no_turbo, parse::switch);
        let no_turbo = match no_turbo {
            Err(error) if error.errno() == Some(Errno::EAGAIN) => None,
            other => root.optional(other),
        };
        let host = match no_turbo {
            Some(no_turbo) => Some(!no_turbo),
            None => root.optional(root.parse(&mut self.boost, parse::switch)),
        };
        let of_host = || host.map(|on| Spread::of_host(on_off(on)));
        if host == Some(false) {
            return of_host();
        }
        policies.or_else(of_host)
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
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

#[cfg(test)]
mod tests;

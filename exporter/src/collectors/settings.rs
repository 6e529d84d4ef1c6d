//! The power settings in force, and the profile they make.
//!
//! Source: `cpu/cpufreq/policyN/scaling_{governor,driver}` and `energy_performance_preference`, `cpu/cpufreq/boost`,
//! `cpu/intel_pstate/no_turbo`, `cpu/cpufreq/policyN/boost`, `cpu/{intel,amd}_pstate/status`, `cpu/cpuidle/current_*`,
//! `cpu/cpuN/cpuidle/stateM/{name,latency (us),disable}`, `cpu/cpuN/power/pm_qos_resume_latency_us`, `cpu/smt/control`,
//! `cpu/vulnerabilities/*`, all under `/sys/devices/system`; `/sys/kernel/debug/sched/{preempt,features}`;
//! `/sys/kernel/sched_ext/{state,root/ops}`; `/proc/cmdline`, `/proc/version`; `/dev/cpu_dma_latency` (us).
//! Kernel: Documentation/admin-guide/pm/{cpufreq,cpuidle,intel_pstate,amd-pstate}.rst,
//! Documentation/power/pm_qos_interface.rst, Documentation/scheduler/sched-ext.rst; debugfs's `sched` since 5.13.
//! Absent: the part, and with all parts absent the profile is `unknown`. Which profile of tuned is active stands under
//! `/etc`, which is not looked at: what it sets is seen here.
//! Denied: debugfs and `cpu_dma_latency` are for root only, and lockdown closes debugfs to root too. Each tells one setting
//! of many, and the profile of a host without PM QoS limits does not need them: the collector is well without, and says
//! so in its reason. `platform_profile` asks the firmware and is not read.
//! Cost: A. The preference is read only where the kernel keeps it in memory: intel_pstate asks the CPU itself, and so
//! did amd-pstate before Linux 6.14. The device is opened and closed each time.

mod boot;
mod chosen;
mod history;
mod host;
mod layout;
mod qos;

use toolkit::metric::{Metric, Roll, Sink};

pub use self::chosen::Flags;
use self::chosen::Values;
use self::history::History;
use self::host::HostFiles;
use self::layout::{CpuIdle, Layout};
use self::qos::HostLimit;
use crate::collector::{Collector, Configured, Cost, Info};
use crate::collectors;
use crate::parse;
use crate::root::{Error, Root};
use crate::settings::{
    BOOST, EPP, GOVERNOR, IDLE_LIMIT, PROFILE_INFO, Profile, QOS, SCALING_DRIVER, Setting, Spread,
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
)
.rolled(Roll::Count);
static MAX_EXIT_LATENCY: Metric<1> = Metric::gauge(
    "wakelag_cpuidle_max_enabled_exit_latency_seconds",
    "The slowest wake-up still allowed on this CPU: the exit latency of its deepest idle state that is neither disabled nor \
     ruled out by PM QoS.",
    &["cpu"],
)
.rolled(Roll::Max);

static QOS_LIMIT: Metric<0> = Metric::gauge(
    "wakelag_pm_qos_cpu_latency_limit_seconds",
    "The slowest wake-up of a CPU that PM QoS allows the host; absent while nobody limits it, and for want of rights.",
    &[],
);
static QOS_RESUME_LIMIT: Metric<1> = Metric::gauge(
    "wakelag_pm_qos_cpu_resume_latency_limit_seconds",
    "The slowest wake-up that PM QoS allows this CPU alone; absent while nobody limits it.",
    &["cpu"],
)
.rolled(Roll::Min);
static SCHED_FEATURE: Metric<1> = Metric::gauge(
    "wakelag_sched_feature_enabled",
    "Whether the feature of the scheduler is on.",
    &["feature"],
);

/// Settings collector.
#[derive(Debug, Default)]
pub struct Settings {
    flags: Flags,
    files: Option<(HostFiles, HostLimit)>,
    layout: Option<Layout>,
    history: History,
}

/// What is set now.
#[derive(Debug)]
pub struct Reading {
    spreads: Vec<(&'static Setting, Spread)>,
    profile: Profile,
    idle: Vec<CpuIdle>,
    qos_limit_us: Option<u64>,
    sched_features: Vec<(String, bool)>,
}

impl Configured for Settings {
    const ASKED_BY: Option<&'static str> = None;

    fn new(flags: &collectors::Flags) -> Self {
        Settings {
            flags: flags.settings.clone(),
            ..Settings::default()
        }
    }
}

impl Collector for Settings {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "settings",
        about: "governor, boost, idle limit, PM QoS, SMT and more, and the profile they make (/sys/devices/system/cpu)",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            RATIO.desc(),
            LAST_CHANGE.desc(),
            PROFILE_INFO.desc(),
            DISABLED.desc(),
            MAX_EXIT_LATENCY.desc(),
            QOS_LIMIT.desc(),
            QOS_RESUME_LIMIT.desc(),
            SCHED_FEATURE.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let files = || (HostFiles::new(root), HostLimit::new(root));
        let (files, limit) = self.files.get_or_insert_with(files);
        let online = root.parse(&mut files.online, parse::cpu_list)?;
        let driver = files.read_driver(root);
        let layout = self.layout.get_or_insert_default();
        if !layout.fits(root, &online, &driver) {
            *layout = Layout::scan(root, &self.flags, online, driver.clone());
            files.rescan();
        }
        let frequency = layout.read_policies(root);
        let qos_limit_us = limit.read(root);
        let idle = layout.read_idle(root, qos_limit_us);
        let limits = Limits::of(&idle);
        let boost = files.read_boost(root, frequency.boost);
        let host = files.read(root, driver);
        let profile = Profile {
            governor: frequency.governor.part(),
            epp: frequency.epp.part(),
            boost: boost.part(),
            idle_limit: limits.idle_with_latency.part(),
            qos: limits.qos.part().filter(|limit| limit != NO_LIMIT),
            smt: host.smt.clone(),
        };
        let of_cpus = [
            (&GOVERNOR, frequency.governor),
            (&SCALING_DRIVER, frequency.driver),
            (&EPP, frequency.epp),
            (&BOOST, boost),
            (&IDLE_LIMIT, limits.idle),
            (&QOS, limits.qos),
        ];
        let of_cpus = of_cpus.map(|(setting, values)| (setting, values.all));
        Ok(Reading {
            spreads: of_cpus.into_iter().chain(host.spreads()).collect(),
            profile,
            idle,
            qos_limit_us,
            sched_features: host.sched_features,
        })
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        emit_profile(&reading.profile, out);
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
            emit_idle(cpu, out);
        }
        if let Some(us) = reading.qos_limit_us {
            out.put(&QOS_LIMIT, [], us as f64 / 1e6);
        }
        for (feature, on) in &reading.sched_features {
            out.put(&SCHED_FEATURE, [feature], f64::from(u8::from(*on)));
        }
    }
}

/// The value of [`QOS`] where PM QoS limits nothing.
const NO_LIMIT: &str = "none";

/// How deep CPUs may sleep.
#[derive(Debug, Default)]
struct Limits {
    idle: Values,
    idle_with_latency: Values,
    qos: Values,
}

impl Limits {
    fn of(idle: &[CpuIdle]) -> Self {
        let mut limits = Limits::default();
        for cpu in idle {
            let qos = cpu.limit_us.map(|us| format!("{us}us"));
            limits.qos.add(qos.as_deref().unwrap_or(NO_LIMIT), cpu.cpus);
            let Some(deepest) = cpu.deepest_allowed() else {
                continue;
            };
            let name = &deepest.name;
            limits.idle.add(name, cpu.cpus);
            let with_latency = deepest.exit_latency_us.map(|us| format!("{name}@{us}us"));
            let with_latency = with_latency.as_ref().unwrap_or(name);
            limits.idle_with_latency.add(with_latency, cpu.cpus);
        }
        limits
    }
}

fn emit_profile(profile: &Profile, out: &mut Sink) {
    let Profile {
        governor,
        epp,
        boost,
        idle_limit,
        qos,
        smt,
    } = profile;
    let part = |part: &'_ Option<String>| part.clone().unwrap_or_default();
    let labels = [
        profile.name(),
        part(governor),
        part(epp),
        part(boost),
        part(idle_limit),
        part(qos),
        part(smt),
    ];
    out.put(&PROFILE_INFO, labels.each_ref().map(String::as_str), 1.0);
}

fn emit_idle(cpu: &CpuIdle, out: &mut Sink) {
    for (state, disabled) in cpu.states.iter().zip(&cpu.disabled) {
        let Some(disabled) = disabled else { continue };
        let labels = [&*cpu.label, &*state.index.to_string(), &*state.name];
        out.put(&DISABLED, labels, f64::from(u8::from(*disabled)));
    }
    let deepest = cpu.deepest_allowed();
    if let Some(us) = deepest.and_then(|deepest| deepest.exit_latency_us) {
        out.put(&MAX_EXIT_LATENCY, [&cpu.label], us as f64 / 1e6);
    }
    if let Some(us) = cpu.resume_limit_us {
        out.put(&QOS_RESUME_LIMIT, [&cpu.label], us as f64 / 1e6);
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

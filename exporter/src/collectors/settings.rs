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
//! did amd-pstate before Linux 6.14. With `--collector.epp` it is read there too, and `cpuN/power/energy_perf_bias` with it:
//! C, at the start and then seldom. The device is opened and closed each time.

mod boot;
mod chosen;
mod history;
mod host;
mod layout;
mod limits;
mod preference;
mod qos;
pub mod sets;

use toolkit::metric::{Metric, Roll, Sink};

pub use self::chosen::Flags;
use self::history::History;
use self::host::HostFiles;
use self::layout::{CpuIdle, Layout};
use self::limits::{Limits, NO_LIMIT};
use self::preference::{Preferences, Signs};
use self::qos::HostLimit;
use self::sets::Place;
use crate::collector::{Collector, Configured, Cost, Info};
use crate::collectors;
use crate::parse;
use crate::root::{Error, Root};
use crate::settings::{
    BOOST, EPB, EPP, GOVERNOR, IDLE_LIMIT, PROFILE_INFO, PROFILE_SET_INFO, Profile, QOS,
    SCALING_DRIVER, Setting, Spread,
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
    preferences: Preferences,
    history: History,
}

/// What is set now.
#[derive(Debug)]
pub struct Reading {
    spreads: Vec<(&'static Setting, Spread)>,
    profile: Profile,
    sets: Vec<(Place, Profile)>,
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
        about: "governor, boost, idle limit, PM QoS, SMT and more, and the profile they make (/sys/devices/system/cpu); \
                with --collector.epp in part cost class C",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            RATIO.desc(),
            LAST_CHANGE.desc(),
            PROFILE_INFO.desc(),
            PROFILE_SET_INFO.desc(),
            sets::CPUS.desc(),
            sets::PACKAGE_INFO.desc(),
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
        let mut frequency = layout.read_policies(root);
        let qos_limit_us = limit.read(root);
        let idle = layout.read_idle(root, qos_limit_us);
        let limits = Limits::of(&idle);
        let boost = files.read_boost(root, frequency.boost);
        let host = files.read(root, driver);
        let signs = || Signs {
            online: layout.online.clone(),
            governor: frequency.governor.clone(),
            driver: frequency.driver.clone(),
            boost: boost.clone(),
            intel_pstate: host.intel_pstate.clone(),
            amd_pstate: host.amd_pstate.clone(),
        };
        let (flags, epp) = (&self.flags.preference, &mut frequency.epp);
        let epb = self
            .preferences
            .read(root, flags, &mut layout.preferences, signs, epp);
        let profile = |index, offline| Profile {
            offline,
            governor: frequency.governor.part(index),
            epp: frequency.epp.part(index),
            boost: boost.part(index),
            idle_limit: limits.idle_with_latency.part(index),
            qos: limits.qos.part(index).filter(|limit| limit != NO_LIMIT),
            smt: host.smt.clone(),
        };
        let own = profile(0, layout.is_offline);
        let sets = (1..).zip(&layout.sets);
        let sets = sets.map(|(index, place)| (place.clone(), profile(index, place.is_offline())));
        let sets = sets.collect();
        let of_cpus = [
            (&GOVERNOR, frequency.governor),
            (&SCALING_DRIVER, frequency.driver),
            (&EPP, frequency.epp),
            (&EPB, epb),
            (&BOOST, boost),
            (&IDLE_LIMIT, limits.idle),
            (&QOS, limits.qos),
        ];
        let of_cpus = of_cpus.map(|(setting, values)| (setting, values.into_all()));
        Ok(Reading {
            spreads: of_cpus.into_iter().chain(host.spreads()).collect(),
            profile: own,
            sets,
            idle,
            qos_limit_us,
            sched_features: host.sched_features,
        })
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        emit_profile(&reading.profile, out);
        for (place, profile) in &reading.sets {
            place.emit(profile, out);
        }
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

fn emit_profile(profile: &Profile, out: &mut Sink) {
    let name = profile.name();
    let [governor, epp, boost, idle_limit, qos, smt] = profile.parts();
    out.put(
        &PROFILE_INFO,
        [&name, governor, epp, boost, idle_limit, qos, smt],
        1.0,
    );
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

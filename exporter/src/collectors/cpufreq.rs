//! Frequencies: what the hardware and the user allow, and what runs.
//!
//! Source: `/sys/devices/system/cpu/cpufreq/policyN/{scaling_cur_freq,scaling_min_freq,scaling_max_freq,cpuinfo_min_freq,
//! cpuinfo_max_freq,cpuinfo_avg_freq}` in kHz, `stats/total_trans`, `stats/time_in_state` (kHz, 1/100 s).
//! Kernel: 2.6; Documentation/admin-guide/pm/cpufreq.rst.
//! Absent: no frequency driver, as on most virtual machines; `stats` with drivers that have no frequency table.
//! Denied: nothing of what is read; `cpuinfo_cur_freq` interrupts the CPU and is not read.
//! Cost: A. On x86 before Linux 5.19 `scaling_cur_freq` interrupts a busy CPU and sleeps: that is recognised within a few
//! reads, and then the file is left alone.

mod policy;
mod speed;

use toolkit::metric::{Metric, Roll, Sink};

use self::policy::PolicyFiles;
use self::speed::Speed;
use crate::collector::{Collector, Cost, Info};
use crate::cpus;
use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Root};

static SCALING: Metric<1> = Metric::gauge(
    "wakelag_cpu_scaling_frequency_hertz",
    "Frequency of the CPU as last sampled or asked for; an idle CPU may show the lowest one.",
    &["cpu"],
)
.rolled(Roll::Max);
static AVERAGE: Metric<1> = Metric::gauge(
    "wakelag_cpu_frequency_avg_hertz",
    "Average frequency of the CPU over its last 20 ms of work.",
    &["cpu"],
)
.rolled(Roll::Min);
static MIN: Metric<1> = Metric::gauge(
    "wakelag_cpu_frequency_min_hertz",
    "Lowest frequency of the hardware.",
    &["cpu"],
)
.rolled(Roll::Min);
static MAX: Metric<1> = Metric::gauge(
    "wakelag_cpu_frequency_max_hertz",
    "Highest frequency of the hardware.",
    &["cpu"],
)
.rolled(Roll::Min);
static SCALING_MIN: Metric<1> = Metric::gauge(
    "wakelag_cpu_scaling_frequency_min_hertz",
    "Lowest frequency that is allowed now.",
    &["cpu"],
)
.rolled(Roll::Min);
static SCALING_MAX: Metric<1> = Metric::gauge(
    "wakelag_cpu_scaling_frequency_max_hertz",
    "Highest frequency that is allowed now.",
    &["cpu"],
)
.rolled(Roll::Min);
static TRANSITIONS: Metric<1> = Metric::counter(
    "wakelag_cpu_frequency_transitions_total",
    "Changes of frequency of the CPU's policy, under the first CPU of the policy.",
    &["cpu"],
);
static STATE_SECONDS: Metric<2> = Metric::counter(
    "wakelag_cpu_frequency_state_seconds_total",
    "Time this frequency was asked for, also while idle, under the first CPU of the policy.",
    &["cpu", "frequency_hertz"],
);

/// Frequency collector.
#[derive(Debug, Default)]
pub struct Cpufreq {
    online: Option<Kept>,
    /// The online CPUs that policies were looked for with; none to look again.
    scanned: Option<Vec<u32>>,
    policies: Vec<PolicyFiles>,
    speed: Option<Speed>,
}

/// Frequencies of one policy, in kHz.
#[derive(Debug, Default)]
pub struct Reading {
    cpus: Vec<String>,
    current_khz: Option<u64>,
    average_khz: Option<u64>,
    min_khz: Option<u64>,
    max_khz: Option<u64>,
    scaling_min_khz: Option<u64>,
    scaling_max_khz: Option<u64>,
    transitions: Option<u64>,
    time_in_state: Vec<TimeInState>,
}

/// A line of `stats/time_in_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeInState {
    hertz: u64,
    /// In 1/100 s.
    ticks: u64,
}

impl Collector for Cpufreq {
    type Reading = Vec<Reading>;
    const INFO: &'static Info = &Info {
        name: "cpufreq",
        about: "frequencies and their limits (/sys/devices/system/cpu/cpufreq)",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            SCALING.desc(),
            AVERAGE.desc(),
            MIN.desc(),
            MAX.desc(),
            SCALING_MIN.desc(),
            SCALING_MAX.desc(),
            TRANSITIONS.desc(),
            STATE_SECONDS.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        let online = self.online.get_or_insert_with(|| cpus::online_file(root));
        let online = root.parse(online, parse::cpu_list)?;
        if self.scanned.as_ref() != Some(&online) {
            self.scanned = None;
            self.policies.clear();
            let errors_before = root.tolerated();
            let policies = cpus::policies(root)?;
            let files = policies
                .iter()
                .filter_map(|policy| root.tolerate(PolicyFiles::scan(root, policy)));
            self.policies = files.collect();
            let well = root.tolerated() == errors_before;
            if self.policies.is_empty() && well {
                // The directory is there on kernels whose driver found nothing to drive: the same as no directory.
                return Err(root.missing("devices/system/cpu/cpufreq/policy0"));
            }
            self.scanned = Some(online).filter(|_| well);
        }
        let speed = self.speed.get_or_insert_with(|| Speed::new(root));
        let mut readings = Vec::with_capacity(self.policies.len());
        for policy in &mut self.policies {
            readings.push(policy.read(root, speed));
        }
        speed.scraped();
        if self.policies.iter().any(PolicyFiles::is_gone) | root.take_replaced() {
            self.scanned = None;
        }
        Ok(readings)
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for policy in &reading {
            for (metric, khz) in [
                (&SCALING, policy.current_khz),
                (&AVERAGE, policy.average_khz),
                (&MIN, policy.min_khz),
                (&MAX, policy.max_khz),
                (&SCALING_MIN, policy.scaling_min_khz),
                (&SCALING_MAX, policy.scaling_max_khz),
            ] {
                let Some(khz) = khz else { continue };
                for cpu in &policy.cpus {
                    out.put(metric, [cpu], khz as f64 * 1e3);
                }
            }
            let Some(first) = policy.cpus.first() else {
                continue;
            };
            if let Some(transitions) = policy.transitions {
                out.put(&TRANSITIONS, [first], transitions as f64);
            }
            for state in &policy.time_in_state {
                let hertz = state.hertz.to_string();
                out.put(&STATE_SECONDS, [first, &hertz], state.ticks as f64 / 100.0);
            }
        }
    }
}

/// `stats/time_in_state`: a line a frequency, kHz and time in 1/100 s.
///
/// # Errors
/// A line that is not two numbers, or a frequency that comes twice.
pub fn time_in_state(text: &str) -> Result<Vec<TimeInState>, ParseError> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let states = lines.filter(|(_, line)| !line.is_empty());
    let mut known = Vec::<TimeInState>::new();
    for (line, content) in states {
        let bad = |problem: &str| ParseError::new(line, problem);
        let (khz, ticks) = content
            .split_once(' ')
            .ok_or_else(|| bad("not two numbers"))?;
        let hertz = parse::field(line, khz)?.checked_mul(1000);
        let hertz = hertz.ok_or_else(|| bad("no frequency of this world"))?;
        if known.iter().any(|state| state.hertz == hertz) {
            return Err(bad("a frequency that comes twice"));
        }
        let ticks = parse::field(line, ticks)?;
        known.push(TimeInState { hertz, ticks });
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.12, acpi-cpufreq.
    #[test]
    fn time_by_frequency() {
        let states = time_in_state("3401000 694\n3400000 145\n800000 1502\n").unwrap();
        assert_eq!(states.len(), 3);
        assert_eq!(
            states[2],
            TimeInState {
                hertz: 800_000_000,
                ticks: 1502
            }
        );
        assert_eq!(time_in_state(""), Ok(vec![]));
        for bad in [
            "3401000\n",
            "3401000 1 2\n",
            "x 1\n",
            "18446744073709551615 1\n",
            "1 18446744073709551616\n",
        ] {
            assert!(time_in_state(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_frequency_that_comes_twice_was_published_twice() {
        assert!(time_in_state("800000 1\n800000 2\n").is_err());
    }
}

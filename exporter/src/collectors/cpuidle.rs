//! Time in each idle state, and how well the governor chose.
//!
//! Source: `/sys/devices/system/cpu/cpuN/cpuidle/stateM/{time (us),usage,above,below,rejected,latency (us),residency (us),
//! default_status}`.
//! Kernel: 2.6.24, `above`/`below` 5.1, `default_status` 5.6, `rejected` 5.10; Documentation/admin-guide/pm/cpuidle.rst.
//! Absent: no idle driver, as on most virtual machines (`cpuidle/current_driver` is `none`).
//! Denied: nothing; all of it is world-readable.
//! Cost: A, one read a CPU, state and counter.
//!
//! The kernel credits time when a CPU wakes up, so a CPU asleep for a minute shows no progress and then a jump of a
//! minute. What is published never advances faster than the clock: the surplus is carried over to the next scrapes.

mod files;
mod pace;

use std::sync::Arc;
use std::time::Instant;

use toolkit::metric::{Metric, Sink};

use self::files::{Counts, CpuFiles};
use self::pace::Pace;
use crate::collector::{Collector, Cost, Info};
use crate::cpus;
use crate::parse;
use crate::root::{Error, Kept, Root, absent};

static INFO: Metric<2> = Metric::gauge(
    "wakelag_cpuidle_info",
    "Idle driver and governor in use.",
    &["driver", "governor"],
);
static SECONDS: Metric<3> = Metric::counter(
    "wakelag_cpuidle_state_seconds_total",
    "Time the CPU asked for this idle state, credited when it wakes up and never faster than the clock.",
    &["cpu", "state", "name"],
);
static ENTRIES: Metric<3> = Metric::counter(
    "wakelag_cpuidle_state_entries_total",
    "Times this idle state was entered.",
    &["cpu", "state", "name"],
);
static ABOVE: Metric<3> = Metric::counter(
    "wakelag_cpuidle_state_above_total",
    "Times this state was entered and a shallower one would have fitted better: the CPU woke up too late for nothing.",
    &["cpu", "state", "name"],
);
static BELOW: Metric<3> = Metric::counter(
    "wakelag_cpuidle_state_below_total",
    "Times this state was entered and a deeper one would have fitted better.",
    &["cpu", "state", "name"],
);
static REJECTED: Metric<3> = Metric::counter(
    "wakelag_cpuidle_state_rejected_total",
    "Times the driver refused to enter this state.",
    &["cpu", "state", "name"],
);
static EXIT_LATENCY: Metric<3> = Metric::gauge(
    "wakelag_cpuidle_state_exit_latency_seconds",
    "Time the CPU needs at most to wake up from this state, as the driver says.",
    &["cpu", "state", "name"],
);
static TARGET_RESIDENCY: Metric<3> = Metric::gauge(
    "wakelag_cpuidle_state_target_residency_seconds",
    "Time this state has to last to be worth entering, as the driver says.",
    &["cpu", "state", "name"],
);
static DEFAULT_DISABLED: Metric<3> = Metric::gauge(
    "wakelag_cpuidle_state_default_disabled",
    "Whether the driver registered this state switched off, as it does with a state the firmware does not declare.",
    &["cpu", "state", "name"],
);

/// Idle state collector.
#[derive(Debug, Default)]
pub struct Cpuidle {
    files: Option<[Kept; 3]>,
    layout: Arc<Layout>,
    counters: Vec<CpuFiles>,
    /// No CPU has idle states, and that will not change under this driver.
    absent: Option<Error>,
    /// Something was missing or other than expected: look again next time.
    stale: bool,
}

/// What stays the same while CPUs and driver do.
#[derive(Debug, Default)]
struct Layout {
    online: Vec<u32>,
    driver: Option<String>,
    cpus: Vec<Cpu>,
}

#[derive(Debug)]
struct Cpu {
    number: u32,
    label: String,
    states: Vec<State>,
}

#[derive(Debug)]
struct State {
    label: String,
    idle: cpus::IdleState,
}

/// The counters of all CPUs.
#[derive(Debug)]
pub struct Reading {
    governor: String,
    layout: Arc<Layout>,
    counts: Vec<Vec<Counts>>,
}

impl Collector for Cpuidle {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "cpuidle",
        about: "time and entries by idle state (/sys/devices/system/cpu/cpuN/cpuidle)",
        default_on: true,
        cost: Cost::A,
        metrics: &[
            INFO.desc(),
            SECONDS.desc(),
            ENTRIES.desc(),
            ABOVE.desc(),
            BELOW.desc(),
            REJECTED.desc(),
            EXIT_LATENCY.desc(),
            TARGET_RESIDENCY.desc(),
            DEFAULT_DISABLED.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let [online, driver, governor] = self.files.get_or_insert_with(|| {
            let cpuidle = |file| root.sys(&format!("devices/system/cpu/cpuidle/{file}"));
            [
                cpus::online_file(root),
                cpuidle("current_driver"),
                cpuidle("current_governor"),
            ]
        });
        let driver = root.optional(root.parse(driver, parse::word));
        let governor = root.optional(root.parse(governor, parse::word));
        let online = root.parse(online, parse::cpu_list)?;
        if self.stale || self.layout.driver != driver || self.layout.online != online {
            self.scan(root, online, driver);
        }
        if let Some(error) = &self.absent {
            return Err(error.clone());
        }
        let now = Instant::now();
        let counters = self.counters.iter_mut();
        let counts = counters.map(|cpu| cpu.read(root, now, &mut self.stale));
        let counts = counts.collect();
        self.stale |= root.take_replaced();
        Ok(Reading {
            counts,
            governor: governor.unwrap_or_default(),
            layout: Arc::clone(&self.layout),
        })
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        let layout = &reading.layout;
        if let Some(driver) = &layout.driver {
            out.put(&INFO, [driver, &reading.governor], 1.0);
        }
        for (cpu, counts) in layout.cpus.iter().zip(&reading.counts) {
            for (state, counts) in cpu.states.iter().zip(counts) {
                let labels = [&*cpu.label, &*state.label, &*state.idle.name];
                let mut count = |metric, value: Option<u64>| {
                    if let Some(value) = value {
                        out.put(metric, labels, value as f64);
                    }
                };
                count(&ENTRIES, counts.usage);
                count(&ABOVE, counts.above);
                count(&BELOW, counts.below);
                count(&REJECTED, counts.rejected);
                if let Some(time_us) = counts.time_us {
                    out.put(&SECONDS, labels, time_us / 1e6);
                }
                state.idle.emit(labels, out);
            }
        }
    }
}

impl Cpuidle {
    /// Looks for the files of the CPUs `online`; those of before are closed.
    fn scan(&mut self, root: &Root, online: Vec<u32>, driver: Option<String>) {
        let errors_before = root.tolerated();
        let old: Vec<(Cpu, Pace)> = {
            let layout = std::mem::take(&mut self.layout);
            let cpus = Arc::into_inner(layout).unwrap_or_default().cpus;
            let paces = self.counters.drain(..).map(|files| files.pace);
            cpus.into_iter().zip(paces).collect()
        };
        let mut old = old.into_iter().peekable();
        let (mut cpus, mut none) = (Vec::new(), None);
        for &number in &online {
            let states = match cpus::idle_states(root, number) {
                Ok(states) => states,
                // An interface of which no CPU has anything is absent; one CPU without is normal.
                Err(error) if error.errno().is_some_and(absent) => {
                    none = Some(error);
                    continue;
                }
                Err(error) => {
                    root.tolerate::<()>(Err(error));
                    continue;
                }
            };
            let (states, dirs): (Vec<_>, Vec<_>) = states.into_iter().unzip();
            let mut files = CpuFiles::new(root, &dirs);
            while old.next_if(|(cpu, _)| cpu.number < number).is_some() {}
            // The pace goes on across a scan: a CPU's carried surplus must not show up as a jump. But not into the
            // states of another driver.
            if let Some((_, pace)) = old.next_if(|(cpu, _)| cpu.has(number, &states)) {
                files.pace = pace;
            }
            self.counters.push(files);
            let state = |idle: cpus::IdleState| State {
                label: idle.index.to_string(),
                idle,
            };
            cpus.push(Cpu {
                number,
                label: number.to_string(),
                states: states.into_iter().map(state).collect(),
            });
        }
        self.absent = none.filter(|_| cpus.is_empty());
        // Without a driver there will be no states; a driver that has none yet is about to register them.
        let settled = self.absent.is_none() || driver.as_deref() == Some("none");
        self.stale = !settled || root.tolerated() > errors_before;
        self.layout = Arc::new(Layout {
            online,
            driver,
            cpus,
        });
    }
}

impl cpus::IdleState {
    fn emit(&self, labels: [&str; 3], out: &mut Sink) {
        for (metric, us) in [
            (&EXIT_LATENCY, self.exit_latency_us),
            (&TARGET_RESIDENCY, self.target_residency_us),
        ] {
            if let Some(us) = us {
                out.put(metric, labels, us as f64 / 1e6);
            }
        }
        if let Some(disabled) = self.default_disabled {
            out.put(&DEFAULT_DISABLED, labels, f64::from(disabled));
        }
    }
}

impl Cpu {
    fn has(&self, number: u32, states: &[cpus::IdleState]) -> bool {
        self.number == number && self.states.iter().map(|state| &state.idle).eq(states)
    }
}

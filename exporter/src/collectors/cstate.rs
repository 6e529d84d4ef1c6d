//! Residency of packages in idle states, as the hardware counts it.
//!
//! Source: the PMU `cstate_pkg` (`/sys/bus/event_source/devices/cstate_pkg/events/cN-residency`, ticks of the time stamp
//! counter), and `msr/tsc/` once for how fast those tick; see [`crate::perf`].
//! Kernel: 4.5, module intel_cstate; arch/x86/events/intel/cstate.c says which CPUs count which states.
//! Absent: AMD, ARM, and virtual machines.
//! Denied: as [`crate::perf`].
//! Cost: D, one wake-up a package; since Linux 6.12 none for the package of the reader. The residency of single cores
//! (`cstate_core`) would wake up each of them and is not read.
//!
//! What cpuidle says is what each CPU asked for; a package is in a state only while all of its CPUs and what is beside them
//! let it. A package that is never idle counts 0, which is a count.

use nix::errno::Errno;
use toolkit::metric::{Metric, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::perf::{Count, DEVICES, Kernel, Packages, Perf, Pmu};
use crate::root::{Error, Root};

static SECONDS: Metric<3> = Metric::counter(
    "wakelag_cstate_package_seconds_total",
    "Time the whole package was in the idle state by the hardware's count, since the exporter's start; c6 is its package C6.",
    &["package", "die", "state"],
);

const PMU: &str = "cstate_pkg";
const SUFFIX: &str = "-residency";
/// No time stamp counter ticks slower or faster.
const PLAUSIBLE_HERTZ: std::ops::Range<f64> = 1e8..2e10;

/// cstate collector.
#[derive(Debug)]
pub struct Cstate {
    packages: Packages,
    /// Ticks a second.
    tsc_hertz: Option<f64>,
}

impl Default for Cstate {
    fn default() -> Self {
        Cstate::with(Box::new(Kernel))
    }
}

/// Ticks of every state and package, and how fast they tick.
#[derive(Debug)]
pub struct Reading {
    ticks: Vec<Count>,
    tsc_hertz: f64,
}

impl Collector for Cstate {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "cstate",
        about: "time whole packages are in idle states, counted by Intel's hardware (perf cstate_pkg)",
        default_on: false,
        cost: Cost::D,
        metrics: &[SECONDS.desc()],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        let ticks = self.packages.read(root)?;
        let tsc_hertz = match self.tsc_hertz {
            Some(hertz) => hertz,
            None => *self
                .tsc_hertz
                .insert(tsc_hertz(root, self.packages.perf())?),
        };
        Ok(Reading { ticks, tsc_hertz })
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for Count {
            place,
            event,
            count,
        } in &reading.ticks
        {
            let state = event.strip_suffix(SUFFIX).unwrap_or(event);
            let labels = [&*place.package, &*place.die, state];
            out.put(&SECONDS, labels, *count as f64 / reading.tsc_hertz);
        }
    }
}

impl Cstate {
    fn with(perf: Box<dyn Perf>) -> Self {
        Cstate {
            packages: Packages::new(PMU, |event| event.ends_with(SUFFIX), perf),
            tsc_hertz: None,
        }
    }
}

/// Ticks a second of the time stamp counter: counted while this thread runs, exact to about 0.1 %. The kernel tells nobody
/// else what it found at boot.
fn tsc_hertz(root: &Root, perf: &dyn Perf) -> Result<f64, Error> {
    let msr = Pmu::find(root, "msr", |event| event == "tsc")?;
    let error = |errno| root.error(&format!("{DEVICES}/msr/events/tsc"), errno);
    let config = msr.events.first().map(|event| event.config);
    let config = config.ok_or_else(|| error(Errno::ENXIO))?;
    let (ticks, running_ns) = perf.count_here(msr.kind, config).map_err(error)?;
    let hertz = ticks as f64 / running_ns as f64 * 1e9;
    let plausible = PLAUSIBLE_HERTZ.contains(&hertz).then_some(hertz);
    plausible.ok_or_else(|| error(Errno::EINVAL))
}

#[cfg(test)]
mod tests {
    use ::tests::fixture::{self, Fixture};
    use nix::errno::Errno;

    use super::*;
    use crate::perf::fake::{Fake, describe, root};

    fn machine() -> Fixture {
        let machine = fixture::unpack("intel-2s-icelake");
        for (cpu, package) in [(0, "0\n"), (4, "1\n")] {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            machine.write(&format!("{topology}/physical_package_id"), package);
        }
        let states = [("c2-residency", 0), ("c6-residency", 2)];
        describe(&machine, "cstate_pkg", 20, "0,4", &states);
        describe(&machine, "msr", 10, "", &[("tsc", 0)]);
        machine
    }

    fn seconds(cstate: &mut Cstate, root: &Root) -> Vec<(String, f64)> {
        let mut out = Sink::new();
        let reading = cstate.read(root).unwrap();
        cstate.emit(reading, &mut out);
        let families = out.into_families();
        let samples = families.iter().flat_map(|family| family.samples());
        let samples = samples.map(|sample| {
            let labels = ["package", "die", "state"].map(|name| sample.label(name).unwrap());
            (labels.join(" "), sample.value().unwrap())
        });
        samples.collect()
    }

    #[test]
    fn ticks_are_seconds_of_each_state_and_package() {
        let (machine, kernel) = (machine(), Fake::default());
        let root = root(&machine);
        let mut cstate = Cstate::with(Box::new(kernel.clone()));
        seconds(&mut cstate, &root);
        kernel.count(0, 2, 3_000_000_000);
        kernel.count(4, 0, 1_000_000_000);
        assert_eq!(
            seconds(&mut cstate, &root),
            [
                ("0  c2".to_owned(), 0.0),
                ("0  c6".to_owned(), 1.5),
                ("1  c2".to_owned(), 0.5),
                ("1  c6".to_owned(), 0.0),
            ]
        );
        assert_eq!(kernel.state().reads, 4, "once a package and time");
    }

    #[test]
    fn without_the_pmu_it_is_absent_and_without_the_right_denied() {
        let none = fixture::unpack("guest-haltpoll");
        let mut cstate = Cstate::with(Box::new(Fake::default()));
        let error = cstate.read(&root(&none)).unwrap_err();
        assert_eq!(error.errno(), Some(Errno::ENOENT));
        let (machine, kernel) = (machine(), Fake::default());
        kernel.state().refuses = Some(Errno::EACCES);
        let mut cstate = Cstate::with(Box::new(kernel));
        let error = cstate.read(&root(&machine)).unwrap_err();
        assert_eq!(error.errno(), Some(Errno::EACCES));
        assert!(error.to_string().contains("cstate_pkg"), "{error}");
    }

    /// This machine's own counter, where it has one and this user may.
    #[test]
    fn the_time_stamp_counter_of_an_x86_machine_ticks_as_fast_as_one() {
        let paths = crate::root::Paths::new("/proc".into(), "/sys".into(), "/dev".into());
        match tsc_hertz(&Root::new(paths), &Kernel) {
            Ok(hertz) => assert!(PLAUSIBLE_HERTZ.contains(&hertz), "{hertz}"),
            Err(error) => {
                let denied = matches!(error.errno(), Some(Errno::EACCES | Errno::EPERM));
                let may = nix::unistd::geteuid().is_root();
                let absent = !cfg!(target_arch = "x86_64");
                assert!(absent || (denied && !may), "{error}");
            }
        }
    }
}

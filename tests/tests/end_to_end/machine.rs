//! A fixture machine that spends energy and whose settings change while it is read.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tests::fixture::{self, Fixture};

use crate::now_s;

const ENERGY: &str = "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj";
const POLICIES: u32 = 8;

/// The two-socket server, all of its CPUs with the same settings.
pub(crate) fn machine() -> Fixture {
    let machine = fixture::unpack("intel-2s-icelake");
    machine.write("sys/devices/system/cpu/cpu3/cpuidle/state3/disable", "0\n");
    for policy in 0..POLICIES {
        machine.reserve(&governor_file(policy), 16);
    }
    machine
}

pub(crate) fn governor_file(policy: u32) -> String {
    format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor")
}

pub(crate) fn set_governor(machine: &Fixture, governor: &str) {
    for policy in 0..POLICIES {
        machine.write(&governor_file(policy), &format!("{governor}\n"));
    }
}

/// Package 0 draws 50 W, in steps that are written down with their time.
pub(crate) fn spend_energy(machine: &Fixture, stop: &AtomicBool, spent: &Mutex<Vec<(f64, f64)>>) {
    const STEP: Duration = Duration::from_millis(50);
    let mut energy_uj: u64 = machine.read(ENERGY).trim().parse().unwrap();
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STEP);
        let step_uj = 50 * u64::try_from(last.elapsed().as_micros()).unwrap();
        last = Instant::now();
        energy_uj += step_uj;
        spent.lock().unwrap().push((now_s(), step_uj as f64 / 1e6));
        machine.write(ENERGY, &format!("{energy_uj}\n"));
    }
}

/// Ends the machine's own thread also when an assertion fails.
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

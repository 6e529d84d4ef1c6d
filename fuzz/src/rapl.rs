//! Energy and power limits of RAPL zones.

use super::machine::{Machine, Rising, at_most, largest};

const FILES: [&str; 14] = [
    "sys/class/powercap/intel-rapl:0/name",
    "sys/class/powercap/intel-rapl:0/energy_uj",
    "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
    "sys/class/powercap/intel-rapl:0:0/name",
    "sys/class/powercap/intel-rapl:0:0/energy_uj",
    "sys/class/powercap/intel-rapl:0:0/max_energy_range_uj",
    "sys/class/powercap/intel-rapl-mmio:0/name",
    "sys/class/powercap/intel-rapl-mmio:0/energy_uj",
    "sys/class/powercap/intel-rapl:0/enabled",
    "sys/class/powercap/intel-rapl:0/constraint_0_name",
    "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
    "sys/class/powercap/intel-rapl:0/constraint_0_time_window_us",
    "sys/class/powercap/intel-rapl:0/constraint_1_name",
    "sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw",
];
const RISING: [&str; 2] = [
    "wakelag_rapl_energy_joules_total",
    "wakelag_rapl_wraps_total",
];

thread_local! {
    static MACHINE: Machine = Machine::new(&FILES, &[]);
}

/// A meter starts at 0, never goes back, and adds no more in a scrape than the largest number read.
pub(crate) fn run(bytes: &[u8]) {
    let largest_j = largest(bytes) / 1e6;
    let mut rising = Rising::of(&RISING);
    let mut is_first = true;
    MACHINE.with(|machine| {
        machine.scrape(&["rapl"], &[], bytes, |scrape| {
            let counted = rising.check(scrape);
            let most = if is_first { 0.0 } else { largest_j.max(1.0) };
            assert!(
                counted <= most * (1.0 + 1e-9) + 1e-6,
                "{counted} of {most} J"
            );
            is_first = false;
            for sample in scrape.samples("wakelag_rapl_power_limit_watts") {
                assert!(sample.value > 0.0, "{sample:?}");
                assert!(at_most(sample.value, 1e6, largest_j * 1e6), "{sample:?}");
            }
        });
    });
}

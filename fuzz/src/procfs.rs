//! `/proc/stat`, `softirqs`, `interrupts` and `pressure`.

use super::machine::{Machine, Rising, at_most, largest};

const FILES: [&str; 7] = [
    "proc/stat",
    "proc/softirqs",
    "proc/interrupts",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/pressure/irq",
];
/// Counted on by the exporter, over wraps of the kernel's counters.
const RISING: [&str; 2] = ["wakelag_softirqs_total", "wakelag_interrupts_kind_total"];
/// Published as the kernel has them, with how many of the kernel's units make one.
const AS_THEY_ARE: [(&str, f64); 11] = [
    ("wakelag_cpu_seconds_total", 100.0),
    ("wakelag_context_switches_total", 1.0),
    ("wakelag_interrupts_total", 1.0),
    ("wakelag_procs_running", 1.0),
    ("wakelag_procs_blocked", 1.0),
    ("wakelag_pressure_cpu_waiting_seconds_total", 1e6),
    ("wakelag_pressure_memory_waiting_seconds_total", 1e6),
    ("wakelag_pressure_memory_stalled_seconds_total", 1e6),
    ("wakelag_pressure_io_waiting_seconds_total", 1e6),
    ("wakelag_pressure_io_stalled_seconds_total", 1e6),
    ("wakelag_pressure_irq_stalled_seconds_total", 1e6),
];

thread_local! {
    static MACHINE: Machine = Machine::new(&FILES, &[]);
}

pub(crate) fn run(bytes: &[u8]) {
    let collectors = ["stat", "softirqs", "interrupts", "pressure"];
    let largest = largest(bytes);
    let mut rising = Rising::of(&RISING);
    MACHINE.with(|machine| {
        machine.scrape(&collectors, &[], bytes, |scrape| {
            rising.check(scrape);
            for (family, per) in AS_THEY_ARE {
                for sample in scrape.samples(family) {
                    assert!(at_most(sample.value, per, largest), "{sample:?}");
                }
            }
        });
    });
}

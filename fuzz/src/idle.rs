//! Idle states, frequencies, throttling and the scheduler's tunables: small files of sysfs and of `/proc/sys`.

use exporter::parse;

use super::machine::{Machine, NEXT, at_most, largest};

const FILES: [&str; 31] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/cpuidle/current_driver",
    "sys/devices/system/cpu/cpuidle/current_governor",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/residency",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/time",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/usage",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/time",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/rejected",
    "sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
    "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_min_freq",
    "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_avg_freq",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq",
    "sys/devices/system/cpu/cpufreq/policy0/stats/total_trans",
    "sys/devices/system/cpu/cpufreq/policy0/stats/time_in_state",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_total_time_ms",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/sched_nr_migrate",
    "proc/sys/kernel/numa_balancing",
    "sys/kernel/debug/sched/base_slice_ns",
    "sys/kernel/debug/sched/migration_cost_ns",
];
/// How many of the kernel's units make one that is published.
const AS_THEY_ARE: [(&str, f64); 12] = [
    ("wakelag_cpuidle_state_seconds_total", 1e6),
    ("wakelag_cpuidle_state_entries_total", 1.0),
    ("wakelag_cpuidle_state_exit_latency_seconds", 1e6),
    ("wakelag_cpuidle_state_target_residency_seconds", 1e6),
    ("wakelag_cpu_frequency_min_hertz", 1e-3),
    ("wakelag_cpu_scaling_frequency_hertz", 1e-3),
    ("wakelag_cpu_frequency_transitions_total", 1.0),
    ("wakelag_cpu_frequency_state_seconds_total", 100.0),
    ("wakelag_cpu_core_throttles_total", 1.0),
    ("wakelag_cpu_package_throttle_seconds_total", 1e3),
    ("wakelag_sched_base_slice_seconds", 1e9),
    ("wakelag_sched_rt_runtime_seconds", 1e6),
];
/// Each CPU that a list names costs some looks at the disk.
const MOST_CPUS: usize = 8;

thread_local! {
    static MACHINE: Machine = Machine::new(&FILES, &[]);
}

pub(crate) fn run(bytes: &[u8]) {
    let lists = bytes.split(|byte| *byte == NEXT);
    let mut lists = lists.filter_map(|text| std::str::from_utf8(text).ok());
    if lists.any(|text| parse::cpu_list(text).is_ok_and(|cpus| cpus.len() > MOST_CPUS)) {
        return;
    }
    let largest = largest(bytes);
    let collectors = ["cpuidle", "cpufreq", "throttle", "sched"];
    MACHINE.with(|machine| {
        machine.scrape(&collectors, &[], bytes, |scrape| {
            for (family, per) in AS_THEY_ARE {
                for sample in scrape.samples(family) {
                    assert!(at_most(sample.value, per, largest), "{sample:?}");
                }
            }
            for family in ["wakelag_cpu_online", "wakelag_cpu_isolated"] {
                for sample in scrape.samples(family) {
                    assert!([0.0, 1.0].contains(&sample.value), "{sample:?}");
                }
            }
        });
    });
}

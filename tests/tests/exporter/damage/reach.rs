//! Which collectors and families each file of a machine belongs to.

/// What a file may take with it: families by the start of their names.
pub(super) struct Reach {
    pub(super) collectors: &'static [&'static str],
    pub(super) families: &'static [&'static str],
}

pub(super) const SETTINGS: [&str; 3] = [
    "wakelag_profile_",
    "wakelag_setting_",
    "wakelag_cpuidle_max_enabled",
];

const TUNABLES: &[&str] = &["wakelag_sched_"];

/// What is read of a machine by default. All else must not matter.
pub(super) fn reach(machine: &str, path: &str) -> Option<Reach> {
    let reach = |collectors, families| {
        Some(Reach {
            collectors,
            families,
        })
    };
    let (dir, file) = path.rsplit_once('/')?;
    let in_state = dir.contains("/cpuidle/state");
    let in_policy = dir.contains("/cpufreq/policy");
    match file {
        "time" if in_state => reach(&["cpuidle"], &["wakelag_cpuidle_state_seconds_total"]),
        "usage" if in_state => reach(&["cpuidle"], &["wakelag_cpuidle_state_entries_total"]),
        "above" if in_state => reach(&["cpuidle"], &["wakelag_cpuidle_state_above_total"]),
        "below" if in_state => reach(&["cpuidle"], &["wakelag_cpuidle_state_below_total"]),
        "rejected" if in_state => reach(&["cpuidle"], &["wakelag_cpuidle_state_rejected_total"]),
        "name" if in_state => reach(&["cpuidle", "settings"], &["wakelag_cpuidle_state_"]),
        "latency" if in_state => reach(
            &["cpuidle", "settings"],
            &["wakelag_cpuidle_state_exit_latency"],
        ),
        "residency" if in_state => reach(
            &["cpuidle", "settings"],
            &["wakelag_cpuidle_state_target_residency"],
        ),
        "default_status" if in_state => reach(
            &["cpuidle", "settings"],
            &["wakelag_cpuidle_state_default_disabled"],
        ),
        "disable" if in_state => reach(&["settings"], &["wakelag_cpuidle_state_disabled"]),
        "scaling_cur_freq" if in_policy => {
            reach(&["cpufreq"], &["wakelag_cpu_scaling_frequency_hertz"])
        }
        "cpuinfo_avg_freq" if in_policy => {
            reach(&["cpufreq"], &["wakelag_cpu_frequency_avg_hertz"])
        }
        "cpuinfo_min_freq" if in_policy => {
            reach(&["cpufreq"], &["wakelag_cpu_frequency_min_hertz"])
        }
        "cpuinfo_max_freq" if in_policy => {
            reach(&["cpufreq"], &["wakelag_cpu_frequency_max_hertz"])
        }
        "scaling_min_freq" if in_policy => {
            reach(&["cpufreq"], &["wakelag_cpu_scaling_frequency_min_hertz"])
        }
        "scaling_max_freq" if in_policy => {
            reach(&["cpufreq"], &["wakelag_cpu_scaling_frequency_max_hertz"])
        }
        "affected_cpus" if in_policy => reach(
            &["cpufreq", "settings"],
            &["wakelag_cpu_frequency_", "wakelag_cpu_scaling_"],
        ),
        "scaling_governor" | "scaling_driver" | "boost" if in_policy => reach(&["settings"], &[]),
        "energy_performance_preference" if machine == "kernel-6.14" => reach(&["settings"], &[]),
        "total_trans" => reach(&["cpufreq"], &["wakelag_cpu_frequency_transitions_total"]),
        "time_in_state" => reach(&["cpufreq"], &["wakelag_cpu_frequency_state_seconds_total"]),
        "energy_uj" | "name" if dir.contains("intel-rapl:") => {
            reach(&["rapl"], &["wakelag_rapl_", "wakelag_profile_"])
        }
        "max_energy_range_uj" => reach(&["rapl"], &[]),
        // AMD has no limits to be in force or not.
        "enabled" if dir.contains("intel-rapl:") && machine == "intel-2s-icelake" => {
            reach(&["rapl"], &["wakelag_rapl_zone_enabled"])
        }
        _ if file.starts_with("constraint_") && !file.ends_with("max_power_uw") => reach(
            &["rapl"],
            &[
                "wakelag_rapl_power_limit_watts",
                "wakelag_rapl_time_window_seconds",
                // A zone without limits has none to be in force.
                "wakelag_rapl_zone_enabled",
            ],
        ),
        "no_turbo" | "control" => reach(&["settings"], &[]),
        "boost" => reach(&["settings"], &[]),
        "current_driver" | "current_governor" => {
            reach(&["cpuidle", "settings"], &["wakelag_cpuidle_info"])
        }
        "online" if dir.ends_with("system/cpu") => reach(
            &["cpuidle", "settings", "cpufreq", "throttle", "sched"],
            &[
                "wakelag_cpu_isolated",
                "wakelag_cpu_nohz_full",
                "wakelag_cpu_online",
                "wakelag_sched_",
                "wakelag_cpuidle_",
                "wakelag_cpu_frequency",
                "wakelag_cpu_scaling",
                "wakelag_cpu_core_throttle",
                "wakelag_cpu_package_throttle",
                "wakelag_rapl",
                "wakelag_profile",
            ],
        ),
        "core_throttle_count" => reach(&["throttle"], &["wakelag_cpu_core_throttles_"]),
        "core_throttle_total_time_ms" => {
            reach(&["throttle"], &["wakelag_cpu_core_throttle_seconds"])
        }
        "package_throttle_count" => reach(&["throttle"], &["wakelag_cpu_package_throttles_"]),
        "package_throttle_total_time_ms" => {
            reach(&["throttle"], &["wakelag_cpu_package_throttle_seconds"])
        }
        "physical_package_id" | "core_id" if machine == "intel-2s-icelake" => reach(
            &["throttle"],
            &["wakelag_cpu_core_throttle", "wakelag_cpu_package_throttle"],
        ),
        "cmdline" | "version" if dir == "proc" => reach(&["settings"], &[]),
        "status" if dir.ends_with("_pstate") => reach(&["settings"], &[]),
        "state" if dir.ends_with("sched_ext") => reach(&["settings"], &[]),
        "preempt" | "features" if dir.ends_with("debug/sched") => {
            reach(&["settings"], &["wakelag_sched_feature_enabled"])
        }
        "pm_qos_resume_latency_us" => reach(&["settings"], &[]),
        _ if dir.ends_with("vulnerabilities") && file != "old_microcode" => {
            reach(&["settings"], &[])
        }
        "base_slice_ns"
        | "latency_ns"
        | "min_granularity_ns"
        | "wakeup_granularity_ns"
        | "migration_cost_ns"
        | "nr_migrate"
            if dir.ends_with("debug/sched") =>
        {
            reach(&["sched"], TUNABLES)
        }
        "sched_rt_runtime_us"
        | "sched_rt_period_us"
        | "sched_cfs_bandwidth_slice_us"
        | "sched_autogroup_enabled"
        | "numa_balancing" => reach(&["sched"], TUNABLES),
        "present" | "isolated" | "nohz_full" if dir.ends_with("system/cpu") => reach(
            &["sched"],
            &["wakelag_cpu_isolated", "wakelag_cpu_nohz_full"],
        ),
        "softirqs" => reach(&["softirqs"], &["wakelag_softirqs_"]),
        "stat" if dir == "proc" => reach(
            &["stat"],
            &[
                "wakelag_cpu_seconds",
                "wakelag_context",
                "wakelag_interrupts",
                "wakelag_procs",
            ],
        ),
        "schedstat" if dir == "proc" => reach(&["schedstat"], &["wakelag_sched"]),
        "sched_schedstats" => reach(&["schedstat"], &["wakelag_schedstat_enabled"]),
        "cpu" | "memory" | "io" | "irq" if dir.ends_with("pressure") => {
            reach(&["pressure"], &["wakelag_pressure_"])
        }
        "osrelease" if machine == "kernel-6.14" => reach(&["settings"], &["wakelag_node_info"]),
        "osrelease" | "hostname" | "cpuinfo" => reach(&[], &["wakelag_node_info"]),
        _ => None,
    }
}

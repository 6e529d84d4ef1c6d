//! Every file of a machine damaged in turn: an unreadable file costs its own series, in every scrape, and no other.

use std::fs;
use std::path::Path;

use tests::fixture::{self, Fixture};

use crate::series::{Series, label, series, unwell};
use crate::support;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Empty,
    Garbage,
    Directory,
    Gone,
}

/// What a file may take with it: families by the start of their names.
struct Reach {
    collectors: &'static [&'static str],
    families: &'static [&'static str],
}

const SETTINGS: [&str; 3] = [
    "wakelag_profile_",
    "wakelag_setting_",
    "wakelag_cpuidle_max_enabled",
];

const TUNABLES: &[&str] = &["wakelag_sched_"];

/// What is read of a machine by default. All else must not matter.
fn reach(machine: &str, path: &str) -> Option<Reach> {
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

/// Damages a file while `look` looks.
fn with_damage(machine: &Fixture, path: &str, damage: Damage, look: impl FnOnce()) {
    let (file, aside) = (machine.path(path), machine.path("aside"));
    fs::rename(&file, &aside).unwrap();
    match damage {
        Damage::Empty => fs::write(&file, "").unwrap(),
        Damage::Garbage => fs::write(&file, "\u{1F980} -1\n").unwrap(),
        Damage::Directory => fs::create_dir(&file).unwrap(),
        Damage::Gone => {}
    }
    look();
    if damage != Damage::Gone {
        machine.remove(path);
    }
    fs::rename(&aside, &file).unwrap();
}

/// Files below `root`, without links, with those of one CPU, policy and vulnerability for all of them.
fn files(root: &Path, dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        let relative = path
            .strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let again = [
            "cpu0/", "cpu1/", "cpu2/", "cpu3/", "cpu4/", "cpu6/", "cpu7/",
        ]
        .iter()
        .chain(&[
            "policy0/", "policy1/", "policy2/", "policy3/", "policy4/", "policy6/", "policy7/",
            "state0/", "state2/", "state1/",
        ])
        .any(|other| relative.contains(other))
            || (relative.contains("/vulnerabilities/") && !relative.ends_with("/mds"));
        if kind.is_dir() {
            files(root, &path, found);
        } else if kind.is_file() && !again {
            found.push(relative);
        }
    }
}

/// Scrapes twice with the file damaged; `whole` is what the intact machine gives.
fn check(name: &str, machine: &Fixture, path: &str, damage: Damage, whole: &Series) {
    let case = format!("{name}: {path} {damage:?}");
    let exporter = support::exporter(machine);
    let reach = reach(name, path);
    let allowed = reach.as_ref().map_or(&[][..], |reach| reach.collectors);
    let mut errors_before = 0.0;
    for scrape in 0..2 {
        let left = series(&support::scrape(&exporter));
        for gone in whole.keys().filter(|name| !left.contains_key(*name)) {
            let families = reach.as_ref().map_or(&[][..], |reach| reach.families);
            let settings = SETTINGS.iter().filter(|_| allowed.contains(&"settings"));
            let mut families = families.iter().chain(settings);
            assert!(
                families.any(|family| gone.starts_with(family)),
                "{case}: {gone}"
            );
            if path.contains("/cpu5/") && gone.contains("cpu=") {
                assert_eq!(label(gone, "cpu"), Some("5"), "{case}: {gone}");
            }
        }
        let unwell = unwell(&exporter);
        let file = path.rsplit('/').next().unwrap();
        for reason in &unwell {
            let is_allowed = allowed
                .iter()
                .any(|collector| reason.starts_with(collector));
            assert!(is_allowed && reason.contains(file), "{case}: {reason}");
        }
        let errors = left
            .iter()
            .filter(|(name, _)| name.starts_with("wakelag_scrape_errors_total"));
        let errors: f64 = errors.map(|(_, count)| count).sum();
        // A directory without its name, or a policy without its CPUs, is no older kernel's but one that goes away.
        let is_optional = !path.ends_with("/name") && !path.ends_with("affected_cpus");
        if damage == Damage::Gone && is_optional {
            assert_eq!((errors, unwell.len()), (0.0, 0), "{case}: {unwell:?}");
        } else if damage == Damage::Directory {
            assert_eq!(
                unwell.len(),
                allowed.len(),
                "{case}: {unwell:?} in scrape {scrape}"
            );
            assert!(
                errors > errors_before || allowed.is_empty(),
                "{case}: no error in scrape {scrape}"
            );
        }
        errors_before = errors;
    }
}

fn damage_every_file_of(name: &str) {
    let machine = fixture::unpack(name);
    let whole = series(&support::scrape(&support::exporter(&machine)));
    let mut paths = Vec::new();
    files(machine.root(), machine.root(), &mut paths);
    let (read, unread): (Vec<_>, Vec<_>) =
        paths.iter().partition(|path| reach(name, path).is_some());
    assert!(read.len() > 30 && unread.len() > 30, "{read:?} {unread:?}");
    for path in read {
        for damage in [
            Damage::Empty,
            Damage::Garbage,
            Damage::Directory,
            Damage::Gone,
        ] {
            with_damage(&machine, path, damage, || {
                check(name, &machine, path, damage, &whole)
            });
        }
    }
    for path in unread {
        with_damage(&machine, path, Damage::Directory, || {
            check(name, &machine, path, Damage::Directory, &whole)
        });
    }
}

#[test]
fn an_unreadable_file_of_an_intel_machine_costs_its_own_series_in_every_scrape() {
    damage_every_file_of("intel-2s-icelake");
}

#[test]
fn an_unreadable_file_of_an_amd_machine_costs_its_own_series_in_every_scrape() {
    damage_every_file_of("kernel-6.14");
}

//! Settings of a host and the profile they make, and which host it is.

use std::collections::BTreeMap;

use exporter::node::Node;
use toolkit::metric::Sink;

use super::machine::{Machine, NEXT};

const FILES: [&str; 26] = [
    "proc/cmdline",
    "proc/version",
    "proc/cpuinfo",
    "proc/sys/kernel/osrelease",
    "sys/kernel/debug/sched/preempt",
    "sys/kernel/debug/sched/features",
    "sys/kernel/sched_ext/state",
    "sys/kernel/sched_ext/root/ops",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/vulnerabilities/meltdown",
    "sys/devices/system/cpu/vulnerabilities/mds",
    "dev/cpu_dma_latency",
    "sys/devices/system/cpu/cpuidle/current_driver",
    "sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/disable",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/disable",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_driver",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
    "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
    "sys/class/dmi/id/sys_vendor",
];
const FIXED: [(&str, &str); 4] = [
    ("sys/devices/system/cpu/online", "0-1\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
    (
        "sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
        "0\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/affected_cpus",
        "1\n",
    ),
];

thread_local! {
    static MACHINE: Machine = Machine::new(&FILES, &FIXED);
}

pub(crate) fn run(bytes: &[u8]) {
    let cmdline = bytes.split(|byte| *byte == NEXT).next().unwrap_or_default();
    let cmdline = String::from_utf8_lossy(cmdline).into_owned();
    MACHINE.with(|machine| {
        machine.scrape(&["settings"], &[], bytes, |scrape| {
            let profiles = scrape.samples("wakelag_profile_info").len();
            assert_eq!(profiles, 1, "a host is in one profile");
            let mut shares = BTreeMap::<&str, f64>::new();
            for sample in scrape.samples("wakelag_setting_ratio") {
                assert!((0.0..=1.0).contains(&sample.value), "{sample:?}");
                let [(_, setting), (_, value)] = &*sample.labels else {
                    panic!("{sample:?}");
                };
                *shares.entry(setting).or_default() += sample.value;
                if setting == "cmdline" && sample.value == 1.0 {
                    only_allowed(value, &cmdline);
                }
            }
            for (setting, share) in shares {
                assert!((share - 1.0).abs() < 1e-9, "{setting}: {share} in all");
            }
        });
        let mut sink = Sink::new();
        Node::read(&machine.paths(), None).emit(&mut sink);
        assert_eq!(sink.into_families().len(), 1);
    });
}

/// Of a command line that quotes nothing, no word is published whose name is not one of the settings'.
fn only_allowed(published: &str, cmdline: &str) {
    const ALLOWED: [&str; 16] = [
        "amd_pstate",
        "cpufreq.default_governor",
        "cpuidle.",
        "idle",
        "intel_idle.",
        "intel_pstate",
        "isolcpus",
        "mitigations",
        "nohz",
        "nohz_full",
        "nosmt",
        "pcie_aspm",
        "preempt",
        "processor.max_cstate",
        "skew_tick",
        "tsc",
    ];
    if cmdline.contains('"') || published == "none" {
        return;
    }
    for word in published.split_ascii_whitespace() {
        let name = word.split('=').next().unwrap_or_default();
        let is_allowed = |allowed: &&str| {
            name == *allowed || allowed.ends_with('.') && name.starts_with(*allowed)
        };
        assert!(ALLOWED.iter().any(is_allowed), "{word}");
    }
}

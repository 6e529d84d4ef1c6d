//! Why a collector does not publish everything on this host, and the next step.

use std::path::Path;

use crate::collector::State;
use crate::node::Node;
use crate::scrape::Standing;

/// What advice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// A hypervisor decides over power, and hides it.
    pub is_virtual: bool,
    /// The CPUs are ARM's.
    pub is_arm: bool,
    /// This process runs in a container.
    pub in_container: bool,
    /// The container runtime hides parts of /proc and /sys, as these are read.
    pub is_masked: bool,
    /// This process runs as root.
    pub is_root: bool,
}

/// A sentence each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// Why it is so.
    pub why: &'static str,
    /// What to do.
    pub next: &'static str,
}

impl Host {
    /// The host and the process as they are; `sees_own_files` where /proc and /sys are read as this process has them.
    pub fn this(node: &Node, sees_own_files: bool) -> Self {
        // The marks Docker and Podman leave; Kubernetes' runtimes set the variable.
        let marks = ["/.dockerenv", "/run/.containerenv"];
        let in_container = marks.iter().any(|mark| Path::new(mark).exists())
            || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        Host {
            is_virtual: node.is_virtual(),
            is_arm: node.is_arm(),
            in_container,
            is_masked: node.hides_powercap() || (in_container && sees_own_files),
            is_root: nix::unistd::geteuid().is_root(),
        }
    }
}

/// What to say of a collector; nothing where all is well, or before its first run.
pub fn on(standing: &Standing, host: &Host) -> Option<Advice> {
    let outcome = standing.outcome.as_ref()?;
    let (why, next) = match outcome.state {
        State::Ok => return None,
        State::Absent => absent(standing.info.name, host),
        State::Denied => denied(standing.info.name, host),
        State::Timeout => (
            "The kernel does not answer a read of this file.",
            "Look at the device behind it (dmesg); the collector goes on by itself once it answers.",
        ),
        State::Failed if outcome.errors.contains(&"panic") => (
            "This is a defect of wakelag.",
            "Please report it with the line above and the release of the kernel.",
        ),
        State::Failed => (
            "The file is not as any kernel known here writes it, or it could not be read.",
            "Please report it with the line above, the release of the kernel and what `cat` says of the file.",
        ),
    };
    Some(Advice { why, next })
}

fn absent(collector: &str, host: &Host) -> (&'static str, &'static str) {
    const OF_HARDWARE: [&str; 5] = ["cpuidle", "cpufreq", "rapl", "cstate", "throttle"];
    if host.is_virtual && OF_HARDWARE.contains(&collector) {
        return (
            "This is a virtual machine: its host decides over power and does not show it.",
            "Nothing is to be done here; run the exporter on the host too if it is yours.",
        );
    }
    if host.is_masked && collector == "rapl" {
        return (
            "Container runtimes hide /sys/devices/virtual/powercap.",
            "Mount the host's /sys at /host/sys, read-only, and add --path.sysfs=/host/sys.",
        );
    }
    if host.is_masked && collector == "throttle" {
        return (
            "Container runtimes hide cpuN/thermal_throttle.",
            "Mount the host's /sys at /host/sys, read-only, and add --path.sysfs=/host/sys.",
        );
    }
    if host.is_arm
        && let Some(advice) = absent_on_arm(collector)
    {
        return advice;
    }
    match collector {
        "cpuidle" => (
            "No idle driver is at work.",
            "Look in /proc/cmdline for idle=poll, idle=halt or cpuidle.off=1, and in the firmware for C-states.",
        ),
        "cpufreq" => (
            "No frequency driver is at work.",
            "Switch on power management (P-states, CPPC) in the firmware, or load acpi-cpufreq.",
        ),
        "rapl" => (
            "No energy counter is known to the kernel.",
            "Load intel_rapl_msr (Intel, and AMD since Linux 5.11) or intel_rapl_tpmi (newer Intel servers), or the module \
             rapl for --collector.rapl.source=perf.",
        ),
        "cstate" => (
            "The kernel counts no residency of packages: only Intel CPUs do.",
            "On an Intel CPU load the module intel_cstate.",
        ),
        "schedstat" => (
            "The kernel was built without CONFIG_SCHEDSTATS, or procfs is mounted with subset=pid.",
            "Use a distribution's kernel; under systemd remove ProcSubset=pid.",
        ),
        "throttle" => (
            "Only Intel CPUs count thermal throttling.",
            "Nothing is to be done here.",
        ),
        "stat" | "softirqs" | "interrupts" => (
            "The file is hidden: procfs is mounted with subset=pid.",
            "Under systemd remove ProcSubset=pid.",
        ),
        "pressure" => (
            "Pressure stall information is off.",
            "Boot with psi=1, or use a kernel with CONFIG_PSI.",
        ),
        _ => (
            "This kernel does not have it.",
            "Nothing is to be done; a newer kernel may have it.",
        ),
    }
}

/// Where the firmware of ARM servers and boards differs from that of others.
fn absent_on_arm(collector: &str) -> Option<(&'static str, &'static str)> {
    Some(match collector {
        "cpuidle" => (
            "The firmware describes no idle states but the first.",
            "Look for idle states (_LPI) in its setup, or for idle-states in the device tree.",
        ),
        "cpufreq" => (
            "No frequency driver is at work.",
            "Switch on CPPC in the firmware and load cppc_cpufreq; a board with a device tree needs operating points there.",
        ),
        "rapl" => (
            "ARM CPUs have no RAPL: energy is measured by firmware and the board.",
            "Take it from the board's controller, with ipmi_exporter for one.",
        ),
        "cstate" => (
            "ARM CPUs do not count it by themselves.",
            "Nothing is to be done here.",
        ),
        _ => return None,
    })
}

fn denied(collector: &str, host: &Host) -> (&'static str, &'static str) {
    match (collector, host.is_root) {
        ("rapl", false) if host.in_container => (
            "Since Linux 5.10 energy is for root only (CVE-2020-8694).",
            "Run the container as user 0 with all capabilities dropped: the owner needs none to read \
             the files of powercap. For --collector.rapl.source=perf add CAP_PERFMON.",
        ),
        ("rapl", false) => (
            "Since Linux 5.10 energy is for root only (CVE-2020-8694).",
            "Give the process CAP_DAC_READ_SEARCH (systemd: AmbientCapabilities=CAP_DAC_READ_SEARCH), or run it as root \
             without any other capability, or have a udev rule open the files (docs/operations.md). For \
             --collector.rapl.source=perf it takes CAP_PERFMON, or CAP_SYS_ADMIN where \
             /proc/sys/kernel/perf_event_paranoid is above 2.",
        ),
        ("cstate", false) => (
            "A counter of a whole package is for those who may watch everybody.",
            "Give the process CAP_PERFMON (systemd: AmbientCapabilities=CAP_PERFMON), or CAP_SYS_ADMIN where \
             /proc/sys/kernel/perf_event_paranoid is above 2, as on Debian and Ubuntu; or set kernel.perf_event_paranoid=0.",
        ),
        ("rapl" | "cstate", true) if host.in_container => (
            "The container runtime forbids it: perf_event_open is not among the system calls it lets through.",
            "Add the capability CAP_PERFMON to the container, which opens it, or set --collector.rapl.source=powercap.",
        ),
        ("interrupts", _) => (
            "Container runtimes lay an empty file over /proc/interrupts.",
            "Mount the host's /proc at /host/proc, read-only, and add --path.procfs=/host/proc.",
        ),
        ("tasks", _) => (
            "Processes of other users are hidden: procfs is mounted with hidepid, or this is another PID namespace; or the \
             file named above is a pid file out of reach.",
            "Add the user to the group of procfs's gid=, set ProtectProc=default under systemd, or share the host's PID \
             namespace with the container. After a reload that named another pid file, restart: the sandbox keeps to what \
             was named at the start.",
        ),
        (_, false) => (
            "The file is not readable for this user.",
            "Run the exporter as a user who may read it, or give it CAP_DAC_READ_SEARCH.",
        ),
        (_, true) => (
            "The kernel denies it even to root: lockdown, a security module, or a capability taken away.",
            "Look at /sys/kernel/security/lockdown and the audit log.",
        ),
    }
}

#[cfg(test)]
mod tests;

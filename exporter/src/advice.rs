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
    const OF_HARDWARE: [&str; 4] = ["cpuidle", "cpufreq", "rapl", "throttle"];
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
            "Load intel_rapl_msr (Intel, and AMD since Linux 5.11) or intel_rapl_tpmi (newer Intel servers).",
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
        _ => return None,
    })
}

fn denied(collector: &str, host: &Host) -> (&'static str, &'static str) {
    match (collector, host.is_root) {
        ("rapl", false) if host.in_container => (
            "Since Linux 5.10 energy is for root only (CVE-2020-8694).",
            "Run the container as user 0 with all capabilities dropped: the owner needs none to read it.",
        ),
        ("rapl", false) => (
            "Since Linux 5.10 energy is for root only (CVE-2020-8694).",
            "Give the process CAP_DAC_READ_SEARCH (systemd: AmbientCapabilities=CAP_DAC_READ_SEARCH), or run it as root \
             without any other capability.",
        ),
        ("interrupts", _) => (
            "Container runtimes lay an empty file over /proc/interrupts.",
            "Mount the host's /proc at /host/proc, read-only, and add --path.procfs=/host/proc.",
        ),
        ("tasks", _) => (
            "Processes of other users are hidden: procfs is mounted with hidepid, or this is another PID namespace.",
            "Add the user to the group of procfs's gid=, set ProtectProc=default under systemd, or share the host's PID \
             namespace with the container.",
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
mod tests {
    use super::*;
    use crate::collector::Outcome;
    use crate::collectors::COLLECTORS;
    use std::time::Duration;

    const HARDWARE: Host = Host {
        is_virtual: false,
        is_arm: false,
        in_container: false,
        is_masked: false,
        is_root: false,
    };

    fn advice(collector: &str, state: State, host: Host) -> Option<Advice> {
        let entry = COLLECTORS.iter().find(|entry| entry.info.name == collector);
        let standing = Standing {
            info: entry.unwrap().info,
            outcome: Some(Outcome {
                state,
                reason: String::new(),
                errors: vec![],
            }),
            duration: Duration::ZERO,
        };
        on(&standing, &host)
    }

    #[test]
    fn every_outcome_but_ok_has_a_why_and_a_next_step() {
        let states = [State::Absent, State::Denied, State::Failed, State::Timeout];
        for entry in COLLECTORS {
            assert_eq!(advice(entry.info.name, State::Ok, HARDWARE), None);
            for state in states {
                let advice = advice(entry.info.name, state, HARDWARE).unwrap();
                assert!(
                    advice.why.ends_with('.') && advice.next.ends_with('.'),
                    "{advice:?}"
                );
            }
        }
    }

    #[test]
    fn a_guest_is_told_that_its_host_decides_and_a_container_how_to_see_energy() {
        let guest = Host {
            is_virtual: true,
            ..HARDWARE
        };
        assert!(
            advice("cpuidle", State::Absent, guest)
                .unwrap()
                .why
                .contains("virtual machine")
        );
        assert!(
            !advice("pressure", State::Absent, guest)
                .unwrap()
                .why
                .contains("virtual machine")
        );
        let container = Host {
            is_masked: true,
            ..HARDWARE
        };
        let next = |host| advice("rapl", State::Absent, host).unwrap().next;
        assert!(next(container).contains("/host/sys"));
        // The host's own files are mounted already.
        let mounted = Host {
            in_container: true,
            ..HARDWARE
        };
        assert!(next(mounted).contains("intel_rapl_msr"));
    }

    #[test]
    fn an_arm_machine_is_not_told_to_load_drivers_of_intel_s() {
        let arm = Host {
            is_arm: true,
            ..HARDWARE
        };
        for entry in COLLECTORS {
            let advice = advice(entry.info.name, State::Absent, arm).unwrap();
            for word in ["intel_", "acpi-cpufreq", "P-states"] {
                assert!(!advice.next.contains(word), "{advice:?}");
            }
        }
    }
}

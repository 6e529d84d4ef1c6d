//! Which settings there are, and the values each is known to take.

/// A setting, and the values it is known to take.
#[derive(Debug)]
pub struct Setting {
    /// Label value.
    pub name: &'static str,
    /// Values that are always published; those seen are added.
    pub known: &'static [&'static str],
}

/// Frequency governor of each CPU's policy.
pub static GOVERNOR: Setting = Setting {
    name: "governor",
    known: &[
        "conservative",
        "ondemand",
        "performance",
        "powersave",
        "schedutil",
        "userspace",
    ],
};
/// Frequency driver of each CPU's policy.
pub static SCALING_DRIVER: Setting = Setting {
    name: "scaling_driver",
    known: &[
        "acpi-cpufreq",
        "amd-pstate",
        "amd-pstate-epp",
        "cppc_cpufreq",
        "intel_cpufreq",
        "intel_pstate",
    ],
};
/// Energy-performance preference, where reading it wakes no CPU, or `--collector.epp` is on.
pub static EPP: Setting = Setting {
    name: "epp",
    known: &[
        "balance_performance",
        "balance_power",
        "default",
        "performance",
        "power",
    ],
};
/// Energy-performance bias of Intel CPUs, with `--collector.epp`.
pub static EPB: Setting = Setting {
    name: "epb",
    known: &[
        "balance-performance",
        "balance-power",
        "normal",
        "normal-powersave",
        "performance",
        "power",
    ],
};
/// Whether clocks above the nominal one are allowed.
pub static BOOST: Setting = Setting {
    name: "boost",
    known: &["off", "on"],
};
/// Idle driver.
pub static CPUIDLE_DRIVER: Setting = Setting {
    name: "cpuidle_driver",
    known: &["acpi_idle", "haltpoll", "intel_idle", "none", "psci_idle"],
};
/// Idle governor.
pub static CPUIDLE_GOVERNOR: Setting = Setting {
    name: "cpuidle_governor",
    known: &["haltpoll", "ladder", "menu", "teo"],
};
/// The deepest idle state that is enabled.
pub static IDLE_LIMIT: Setting = Setting {
    name: "idle_limit",
    known: &[],
};
/// Simultaneous multithreading.
pub static SMT: Setting = Setting {
    name: "smt",
    known: &["forceoff", "notimplemented", "notsupported", "off", "on"],
};
/// What intel_pstate does: choose frequencies itself (`active`), or leave that to a governor (`passive`).
pub static INTEL_PSTATE: Setting = Setting {
    name: "intel_pstate",
    known: &["active", "off", "passive"],
};
/// What amd-pstate does.
pub static AMD_PSTATE: Setting = Setting {
    name: "amd_pstate",
    known: &["active", "disable", "guided", "passive"],
};
/// The tightest PM QoS limit of a CPU that has idle states, as `10us`.
pub static QOS: Setting = Setting {
    name: "qos",
    known: &["none"],
};
/// When the kernel lets a task be preempted; `dynamic` where it was chosen at boot and only root could see what.
pub static PREEMPT: Setting = Setting {
    name: "preempt",
    known: &["dynamic", "full", "lazy", "none", "rt", "voluntary"],
};
/// A digest of the scheduler's features: the kernel does not tell its defaults, so that two hosts of one release differ is
/// all that can be seen, and `wakelag_sched_feature_enabled` tells in what.
pub static SCHED_FEATURES: Setting = Setting {
    name: "sched_features",
    known: &[],
};
/// The scheduler that sched_ext has loaded, by its name, or why there is none.
pub static SCHED_EXT: Setting = Setting {
    name: "sched_ext",
    known: &["disabled"],
};
/// Whether the kernel works around what the processor is vulnerable to. `mitigations=` is in [`CMDLINE`]; this is what
/// came of it, in four words, since the texts change with every release and would be a change of setting each time.
pub static MITIGATIONS: Setting = Setting {
    name: "mitigations",
    known: &["off", "on", "partial", "unaffected"],
};
/// The arguments of the kernel that settings come from, `none` without any.
pub static CMDLINE: Setting = Setting {
    name: "cmdline",
    known: &["none"],
};

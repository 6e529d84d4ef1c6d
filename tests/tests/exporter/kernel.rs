//! Settings of the kernel itself: its arguments, preemption, mitigations, features and schedulers.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};

const CPU: &str = "sys/devices/system/cpu";

fn replace(machine: &Fixture, path: &str, text: &str) {
    if machine.path(path).exists() {
        machine.remove(path);
    }
    machine.write(path, text);
}

/// The one value of a setting of the whole host.
fn value<'s>(series: &'s Series, setting: &str) -> Option<&'s str> {
    let start = format!("wakelag_setting_ratio{{setting=\"{setting}\"");
    let all = starting(series, &start);
    let mut on = all.into_iter().filter(|(_, share)| *share == 1.0);
    let value = on.next().and_then(|(name, _)| label(name, "value"));
    assert!(on.next().is_none(), "{setting} has two values");
    value
}

#[test]
fn arguments_are_published_by_name_and_nothing_else_of_the_command_line() {
    let host = Host::new("intel-2s-icelake", |machine| {
        let text = "root=UUID=1b2c3d4e ro intel_idle.max_cstate=1 processor.max_cstate=1 idle=poll nohz_full=1-7 \
                    isolcpus=1-7 cryptdevice=x:hunter2 systemd.set_credential=a:hunter2\n";
        replace(machine, "proc/cmdline", text);
    });
    let series = host.scrape();
    assert_eq!(
        value(&series, "cmdline"),
        Some("intel_idle.max_cstate=1 processor.max_cstate=1 idle=poll nohz_full=1-7 isolcpus=1-7")
    );
    for name in series.keys() {
        assert!(
            !name.contains("hunter2") && !name.contains("UUID"),
            "{name}"
        );
    }
}

#[test]
fn preemption_is_what_debugfs_says_or_else_what_the_kernel_was_booted_with() {
    let debugfs = "sys/kernel/debug/sched/preempt";
    type Change<'c> = &'c dyn Fn(&Fixture);
    let cases: [(Change, Option<&str>); 5] = [
        (
            &|m| replace(m, debugfs, "none voluntary (full)\n"),
            Some("full"),
        ),
        (&|m| m.remove(debugfs), Some("dynamic")),
        (
            &|m| {
                m.remove(debugfs);
                replace(m, "proc/cmdline", "preempt=none quiet preempt=full\n");
            },
            Some("full"),
        ),
        (
            &|m| {
                m.remove(debugfs);
                replace(
                    m,
                    "proc/version",
                    "Linux version 6.1.0 (x) #1 SMP PREEMPT_RT x\n",
                );
            },
            Some("rt"),
        ),
        (
            &|m| {
                m.remove(debugfs);
                replace(m, "proc/version", "Linux version 6.1.0 (x) #1 SMP x\n");
            },
            None,
        ),
    ];
    for (change, want) in cases {
        let host = Host::new("intel-2s-icelake", change);
        assert_eq!(value(&host.scrape(), "preempt"), want);
        assert_eq!(host.unwell(), [""; 0]);
    }
}

#[test]
fn mitigations_are_on_off_partial_or_not_needed() {
    for (texts, want) in [
        (["Not affected", "Mitigation: PTI"], Some("on")),
        (["Vulnerable", "Not affected"], Some("off")),
        (
            ["Vulnerable; STIBP: disabled", "Mitigation: PTI"],
            Some("partial"),
        ),
        (["Not affected", "Not affected"], Some("unaffected")),
        (
            [
                "Unknown: Dependent on hypervisor status",
                "KVM: Mitigation: VMX disabled",
            ],
            Some("on"),
        ),
    ] {
        let host = Host::new("intel-2s-icelake", |machine| {
            machine.remove(&format!("{CPU}/vulnerabilities"));
            for (name, text) in ["meltdown", "mds"].into_iter().zip(texts) {
                machine.write(
                    &format!("{CPU}/vulnerabilities/{name}"),
                    &format!("{text}\n"),
                );
            }
            machine.write(
                &format!("{CPU}/vulnerabilities/old_microcode"),
                "Vulnerable\n",
            );
        });
        assert_eq!(value(&host.scrape(), "mitigations"), want, "{texts:?}");
    }
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove(&format!("{CPU}/vulnerabilities"));
    });
    assert_eq!(value(&host.scrape(), "mitigations"), None);
}

/// What is read once must not be lost for good by one bad read, and is asked for again when CPUs go.
#[test]
fn a_bad_read_of_what_is_settled_at_boot_is_repeated() {
    let file = format!("{CPU}/vulnerabilities/mds");
    let host = Host::new("intel-2s-icelake", |machine| {
        replace(machine, &file, "??\n")
    });
    for _ in 0..2 {
        assert_eq!(value(&host.scrape(), "mitigations"), None);
        assert_eq!(host.state("settings"), State::Failed);
    }
    replace(&host.machine, &file, "Not affected\n");
    assert_eq!(value(&host.scrape(), "mitigations"), Some("on"));
    replace(&host.machine, &file, "Vulnerable\n");
    assert_eq!(value(&host.scrape(), "mitigations"), Some("on"));
    host.machine.write(&format!("{CPU}/online"), "0-6\n");
    assert_eq!(value(&host.scrape(), "mitigations"), Some("partial"));
}

#[test]
fn a_scheduler_that_is_loaded_goes_by_its_name() {
    let host = Host::new("kernel-6.14", |_| {});
    assert_eq!(value(&host.scrape(), "sched_ext"), Some("disabled"));
    host.machine
        .write("sys/kernel/sched_ext/root/ops", "scx_lavd\n");
    host.machine
        .write("sys/kernel/sched_ext/state", "enabled\n");
    let series = host.scrape();
    assert_eq!(value(&series, "sched_ext"), Some("scx_lavd"));
    assert!(series["wakelag_setting_last_change_timestamp_seconds{setting=\"sched_ext\"}"] > 0.0);
    host.machine
        .write("sys/kernel/sched_ext/state", "disabled\n");
    assert_eq!(value(&host.scrape(), "sched_ext"), Some("disabled"));
}

#[test]
fn a_switched_feature_is_a_change_of_the_digest() {
    let host = Host::new("kernel-6.14", |_| {});
    let series = host.scrape();
    let before = value(&series, "sched_features").unwrap().to_owned();
    let buddy = "wakelag_sched_feature_enabled{feature=\"NEXT_BUDDY\"}";
    assert_eq!(series[buddy], 0.0);
    let file = "sys/kernel/debug/sched/features";
    let text = host
        .machine
        .read(file)
        .replace("NO_NEXT_BUDDY", "NEXT_BUDDY");
    host.machine.write(file, &text);
    let series = host.scrape();
    assert_eq!(series[buddy], 1.0);
    assert_ne!(value(&series, "sched_features"), Some(&*before));
}

#[test]
fn the_mode_of_the_frequency_driver_is_a_setting() {
    let host = Host::new("intel-2s-icelake", |machine| {
        replace(machine, &format!("{CPU}/intel_pstate/status"), "passive\n");
        machine.write(&format!("{CPU}/amd_pstate/status"), "guided\n");
    });
    let series = host.scrape();
    assert_eq!(value(&series, "intel_pstate"), Some("passive"));
    assert_eq!(value(&series, "amd_pstate"), Some("guided"));
}

//! What `doctor` says of a host, as an operator runs it.

use std::collections::BTreeMap;
use std::process::Command;

use tests::fixture::{self, Fixture};
use tests::program::binary;

use crate::process::without_rights;

fn doctor(machine: &Fixture, format: &str) -> String {
    ask(
        Command::new(binary("wakelag-exporter")),
        machine,
        format,
        &[],
    )
}

/// What the `program` says of `machine`.
fn ask(mut program: Command, machine: &Fixture, format: &str, flags: &[&str]) -> String {
    let output = program
        .arg("doctor")
        .arg(format!("--path.procfs={}", machine.procfs().display()))
        .arg(format!("--path.sysfs={}", machine.sysfs().display()))
        .arg(format!("--path.devfs={}", machine.devfs().display()))
        .arg(format!("--format={format}"))
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_guest_is_told_what_it_lacks_and_why() {
    let report = doctor(&fixture::unpack("guest-haltpoll"), "text");
    let rapl = report
        .split("\n\n")
        .find(|part| part.starts_with("rapl"))
        .unwrap();
    assert!(rapl.starts_with("rapl        absent"), "{rapl}");
    assert!(rapl.contains("class/powercap"), "{rapl}");
    // The file, why it is so, and what to do: which of them depends on where this test runs.
    assert_eq!(rapl.lines().count(), 4, "{rapl}");
}

#[test]
fn a_program_can_read_the_report() {
    let machine = fixture::unpack("intel-2s-icelake");
    machine.write("sys/devices/system/cpu/smt/control", "broken\n");
    let report: serde_json::Value = serde_json::from_str(&doctor(&machine, "json")).unwrap();
    let collectors = report["collectors"].as_array().unwrap();
    let settings = collectors
        .iter()
        .find(|c| c["collector"] == "settings")
        .unwrap();
    assert_eq!(settings["state"], "failed");
    assert!(
        settings["reason"]
            .as_str()
            .unwrap()
            .contains("smt/control:1: "),
        "{settings}"
    );
    assert!(!settings["next"].as_str().unwrap().is_empty());
    assert!(report["series"].as_u64().unwrap() > 100);
    let well = collectors.iter().filter(|c| c["state"] == "ok").count();
    assert_eq!(well, collectors.len() - 1, "{report:#}");
}

/// What is not well on `machine`: state, why and next step by collector.
fn unwell(machine: &Fixture, flags: &[&str]) -> BTreeMap<String, [String; 3]> {
    let report: serde_json::Value = serde_json::from_str(&ask(
        Command::new(binary("wakelag-exporter")),
        machine,
        "json",
        flags,
    ))
    .unwrap();
    let mut unwell = BTreeMap::new();
    for finding in report["collectors"].as_array().unwrap() {
        let said = |key: &str| finding[key].as_str().unwrap().to_owned();
        if said("state") == "ok" {
            assert_eq!((said("why"), said("next")), (String::new(), String::new()));
            continue;
        }
        assert!(
            !said("reason").is_empty() && !said("why").is_empty() && !said("next").is_empty(),
            "{finding:#}"
        );
        unwell.insert(
            said("collector"),
            [said("state"), said("why"), said("next")],
        );
    }
    unwell
}

#[test]
fn a_container_is_told_which_directory_to_mount() {
    let found = unwell(
        &fixture::unpack("container-masked"),
        &["--collector.interrupts"],
    );
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        ["interrupts", "rapl", "throttle"]
    );
    for (collector, mount) in [
        ("rapl", "/host/sys"),
        ("throttle", "/host/sys"),
        ("interrupts", "/host/proc"),
    ] {
        let [_, why, next] = &found[collector];
        assert!(why.starts_with("Container runtimes"), "{why}");
        assert!(next.contains(mount), "{next}");
    }
    // Where the host's /sys is mounted nothing is hidden, and the driver is what is missing.
    let mounted = fixture::unpack("intel-2s-icelake");
    mounted.remove("sys/class/powercap");
    assert!(unwell(&mounted, &[])["rapl"][2].contains("intel_rapl_msr"));
}

#[test]
fn an_arm_server_is_not_sent_after_hardware_it_cannot_have() {
    let found = unwell(&fixture::unpack("arm-server"), &[]);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["rapl", "throttle"]);
    assert!(found["rapl"][1].contains("ARM"), "{found:?}");
    for [state, _, next] in found.values() {
        assert_eq!(state, "absent");
        assert!(!next.contains("intel"), "{next}");
    }
}

#[test]
fn a_guest_is_sent_to_its_host() {
    let found = unwell(&fixture::unpack("guest-empty"), &[]);
    for collector in ["cpuidle", "cpufreq", "rapl", "throttle"] {
        let [state, why, _] = &found[collector];
        assert_eq!(state, "absent");
        assert!(why.contains("virtual machine"), "{collector}: {why}");
    }
    assert!(!found["schedstat"][1].contains("virtual machine"));
}

#[test]
fn a_user_without_rights_is_told_which_one_is_missing() {
    let machine = fixture::unpack("intel-2s-icelake");
    let report = ask(without_rights(&machine), &machine, "text", &[]);
    let rapl = report
        .split("\n\n")
        .find(|part| part.starts_with("rapl"))
        .unwrap();
    assert!(rapl.starts_with("rapl        denied"), "{rapl}");
    assert!(
        rapl.contains("intel-rapl:0/energy_uj: Permission denied"),
        "{rapl}"
    );
    assert!(rapl.contains("CVE-2020-8694"), "{rapl}");
    // In a container it is another one.
    assert!(
        rapl.contains("CAP_DAC_READ_SEARCH") || rapl.contains("as user 0"),
        "{rapl}"
    );
    let heads = report.lines().filter(|line| line.contains("cost class"));
    let denied = heads.filter(|line| line.contains(" denied "));
    assert_eq!(denied.count(), 1, "{report}");
}

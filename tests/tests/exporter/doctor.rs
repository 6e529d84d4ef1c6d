//! What `doctor` says of a host, as an operator runs it.

use std::process::Command;

use tests::fixture::{self, Fixture};
use tests::program::binary;

fn doctor(machine: &Fixture, format: &str) -> String {
    let output = Command::new(binary("wakelag-exporter"))
        .arg("doctor")
        .arg(format!("--path.procfs={}", machine.procfs().display()))
        .arg(format!("--path.sysfs={}", machine.sysfs().display()))
        .arg(format!("--path.devfs={}", machine.devfs().display()))
        .arg(format!("--format={format}"))
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

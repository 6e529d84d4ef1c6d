//! The whole exposition of every fixture machine, compared with a golden file and accepted by `promtool check metrics`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use tests::fixture::{self, Fixture};
use tests::golden;

mod support;
use support::scrape;

#[test]
fn every_machine_gives_its_golden_exposition() {
    for machine in fixture::machines() {
        let text = exposition(&fixture::unpack(&machine));
        golden::compare(&format!("tests/golden/{machine}.prom"), &text);
    }
}

#[test]
fn promtool_accepts_every_machine() {
    for machine in fixture::machines() {
        let text = exposition(&fixture::unpack(&machine));
        let mut promtool = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("promtool, from Debian's package prometheus");
        promtool
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let output = promtool.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{machine}: {said}");
    }
}

fn exposition(machine: &Fixture) -> String {
    // All there is: where processes are, those of the databases too.
    let flags = [
        "--collector.interrupts",
        "--collector.tasks.preset=postgres",
        "--collector.tasks.preset=mariadbd",
    ];
    let has_processes = machine.path("proc/1").exists();
    let flags = if has_processes {
        &flags[..]
    } else {
        &flags[..1]
    };
    let mut families = scrape(&support::exporter_of(machine, flags));
    // How long a collector took is not the machine's.
    families.retain(|family| family.name() != "wakelag_scrape_collector_duration_seconds");
    toolkit::exposition::text(&families)
}

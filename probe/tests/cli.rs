//! The program as a user runs it: what it prints, and its exit code.

// clippy.toml allows these in test functions; here the helpers beside them are tests too.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

fn run(state: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wakelag-probe"))
        .env_clear()
        .env("STATE_DIRECTORY", state)
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn check_says_what_a_file_holds_or_where_it_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("probe.yaml");
    let name = file.to_str().unwrap();
    let good =
        "targets:\n  - {name: a, engine: sqlite, path: a.db, workloads: [select1, point-select]}\n";
    std::fs::write(&file, good).unwrap();
    let output = run(dir.path(), &["check", name]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        format!("{name}: targets: 1, workloads: 2\n")
    );

    std::fs::write(&file, good.replace("select1", "selct1")).unwrap();
    let output = run(dir.path(), &["check", name]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        format!(
            "error: {name}:2:55: no workload is named `selct1`; known: select1, select1-idle, point-select\n"
        )
    );
}

#[test]
fn bench_needs_no_configuration_and_keeps_its_output_to_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "bench",
        "--target=embedded",
        "--workload=select1",
        "--seconds=1",
    ];
    let output = run(dir.path(), &[&args[..], &["--format=json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["queries"].as_u64().unwrap() > 0);
    assert_eq!(text(&output.stderr), "");
    let output = run(dir.path(), &args);
    assert!(text(&output.stdout).contains("p99.9"));
}

#[test]
fn a_failure_exits_with_1_and_a_wrong_command_line_with_2() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(
        dir.path(),
        &["bench", "--target=nobody", "--workload=select1"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "error: no target is named `nobody`; known: embedded\n"
    );
    assert_eq!(run(dir.path(), &["bench"]).status.code(), Some(2));
    assert_eq!(run(dir.path(), &["--seconds"]).status.code(), Some(2));
}

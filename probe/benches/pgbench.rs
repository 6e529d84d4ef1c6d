//! `wakelag-probe bench` beside `pgbench -n -M prepared -S -c 1`, on the same rows of the same private server.
//!
//! Absolute times say more of the machine than of either program, so the two alternate (ABBA) and their ratio counts.
//! `cargo bench -p probe --bench pgbench`, on an idle machine; `ROUNDS` and `SECONDS` in the environment.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a benchmark that cannot run says so by panicking

use std::path::Path;
use std::process::Command;

use tests::postgres::Postgres;

const PGBENCH: &str = "/usr/lib/postgresql/15/bin/pgbench";

fn main() {
    let rounds = number("ROUNDS", 4);
    let seconds = number("SECONDS", 10);
    let server = Postgres::start("host all all 127.0.0.1/32 trust");
    let init = run(pgbench(&server, &socket_dir(&server)).args(["-i", "-q", "-s", "1"]));
    assert!(init.is_empty(), "{init}");
    let dir = tempfile::tempdir().unwrap();
    println!("mean latency in us, {seconds} s each, {rounds} ABBA rounds");
    println!(
        "{:9} {:>7} {:>9} {:>9} {:>7}",
        "transport", "round", "probe", "pgbench", "ratio"
    );
    for (transport, address, host) in [
        (
            "unix",
            format!("unix:{}", server.socket().display()),
            socket_dir(&server),
        ),
        (
            "tcp",
            format!("127.0.0.1:{}", server.port),
            "127.0.0.1".to_owned(),
        ),
    ] {
        let configuration = configure(dir.path(), &address);
        let probe = || probe_us(&configuration, seconds);
        let pgbench = || pgbench_us(&server, &host, seconds);
        let mut sums = (0.0, 0.0);
        for round in 1..=rounds {
            let (a1, b1) = (probe(), pgbench());
            let (b2, a2) = (pgbench(), probe());
            let (a, b) = ((a1 + a2) / 2.0, (b1 + b2) / 2.0);
            sums = (sums.0 + a, sums.1 + b);
            line(transport, &round.to_string(), a, b);
        }
        let rounds = rounds as f64;
        line(transport, "mean", sums.0 / rounds, sums.1 / rounds);
    }
}

fn line(transport: &str, round: &str, probe_us: f64, pgbench_us: f64) {
    let ratio = probe_us / pgbench_us;
    println!("{transport:9} {round:>7} {probe_us:9.1} {pgbench_us:9.1} {ratio:7.3}");
}

fn number(variable: &str, default: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(default, |text| text.parse().expect(variable))
}

fn configure(dir: &Path, address: &str) -> String {
    let file = dir.join("probe.yaml");
    let text = format!(
        "targets:\n\
         \x20 - {{name: server, engine: postgres, address: '{address}', database: postgres, user: postgres,\n\
         \x20    workloads: [select-only]}}\n\
         workloads:\n\
         \x20 - name: select-only\n\
         \x20   query: SELECT abalance FROM pgbench_accounts WHERE aid = $1\n\
         \x20   params: [{{int: {{uniform: [1, 100000]}}}}]\n\
         \x20   pattern: {{every: 1s, queries: 1}}\n"
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Mean service time of a closed loop of one lane.
fn probe_us(configuration: &str, seconds: u64) -> f64 {
    let mut probe = Command::new(env!("CARGO_BIN_EXE_wakelag-probe"));
    probe.args([
        "bench",
        "--target=server",
        "--workload=select-only",
        "--format=json",
    ]);
    probe.arg(format!("--config.file={configuration}"));
    probe.arg(format!("--seconds={seconds}"));
    let report: serde_json::Value = serde_json::from_str(&run(&mut probe)).unwrap();
    assert_eq!(report["errors"], 0, "{report}");
    report["service_seconds"]["mean"].as_f64().unwrap() * 1e6
}

/// What pgbench prints as `latency average = 0.051 ms`.
fn pgbench_us(server: &Postgres, host: &str, seconds: u64) -> f64 {
    let mut command = pgbench(server, host);
    command.args([
        "-n",
        "-M",
        "prepared",
        "-S",
        "-c",
        "1",
        "-T",
        &seconds.to_string(),
    ]);
    let said = run(&mut command);
    // Its average is rounded to a microsecond; transactions a second are not.
    let tps = said.split("tps = ").nth(1).expect(&said);
    let tps: f64 = tps.split(' ').next().unwrap().parse().unwrap();
    1e6 / tps
}

fn pgbench(server: &Postgres, host: &str) -> Command {
    let mut command = Command::new(PGBENCH);
    command.args(["-h", host, "-p", &server.port.to_string(), "-U", "postgres"]);
    command.env("PGDATABASE", "postgres");
    command
}

fn socket_dir(server: &Postgres) -> String {
    server.socket().parent().unwrap().display().to_string()
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

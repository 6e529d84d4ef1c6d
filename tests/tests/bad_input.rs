//! What both programs say of input they cannot work with: what and where, the next step, and the exit code.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use tests::http;
use tests::postgres::Postgres;
use tests::program::{Program, binary};

/// Runs a program that is to refuse; its exit code and what it said.
fn refused(program: &str, arguments: &[&str], dir: &Path) -> (Option<i32>, String) {
    let output = Command::new(binary(program))
        .args(arguments)
        .env("STATE_DIRECTORY", dir.join("state"))
        .current_dir(dir)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_mistake_on_the_command_line_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    for (program, arguments, says) in [
        (
            "wakelag-exporter",
            &["--collector.cpuidel"][..],
            "a similar argument exists: '--collector.cpuidle'",
        ),
        (
            "wakelag-exporter",
            &["--path.sysfs=/nonexistent"],
            "there is no such directory",
        ),
        (
            "wakelag-exporter",
            &["--path.sysfs=/sys", "doctor"],
            "--path.sysfs has to stand behind `doctor`",
        ),
        (
            "wakelag-exporter",
            &["--web.listen-address=nowhere"],
            "--web.listen-address <HOST:PORT>",
        ),
        (
            "wakelag-exporter",
            &["--collector.tasks.file=/nonexistent/tasks.yaml"],
            "/nonexistent/tasks.yaml: cannot read",
        ),
        ("wakelag-probe", &["--nope"], "unexpected argument '--nope'"),
        (
            "wakelag-probe",
            &["--with-exporter", "serve"],
            "--with-exporter has to stand behind `serve`",
        ),
        ("wakelag-probe", &["bench"], "--target <NAME>"),
    ] {
        let (code, said) = refused(program, arguments, dir.path());
        assert_eq!(code, Some(2), "{program} {arguments:?}: {said}");
        assert!(said.contains(says), "{program} {arguments:?}: {said}");
    }
}

#[test]
fn a_port_in_use_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for program in ["wakelag-exporter", "wakelag-probe"] {
        let flag = format!("--web.listen-address={address}");
        let (code, said) = refused(program, &[&flag], dir.path());
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains(&address) && said.contains("choose another"),
            "{said}"
        );
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (code, said) = refused("wakelag-probe", &["--config.file=missing.yaml"], dir.path());
    assert_eq!(
        (code, &*said),
        (
            Some(1),
            "error: missing.yaml: cannot read: No such file or directory (os error 2)\n"
        )
    );
}

/// Writes a configuration of one target at `server` with `password`, and starts the probe on it.
fn probe(server: &Postgres, password: &str, dir: &Path) -> Program {
    std::fs::write(dir.join("secret"), password).unwrap();
    let configuration = format!(
        "targets:\n  - {{name: orders, engine: postgres, address: '127.0.0.1:{}', database: postgres, user: asker,\n     \
         password_file: secret, workloads: [select1]}}\n",
        server.port
    );
    let file = dir.join("probe.yaml");
    std::fs::write(&file, configuration).unwrap();
    let flag = format!("--config.file={}", file.display());
    Program::start(
        "wakelag-probe",
        &[
            &flag,
            "--web.listen-address=127.0.0.1:0",
            "--log.level=trace",
        ],
    )
}

/// How many queries ended in `result`, as /metrics says.
fn count(metrics: &str, result: &str) -> f64 {
    let label = format!("result=\"{result}\"");
    let line = metrics
        .lines()
        .find(|line| line.starts_with("wakelag_probe_queries_total") && line.contains(&label));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_wrong_password_and_a_server_that_goes_are_counted_and_the_probe_goes_on_by_itself() {
    const CANARY: &str = "c4n4ry p@ss";
    let server = Postgres::start("host all all 127.0.0.1/32 scram-sha-256");
    server.sql("CREATE ROLE asker LOGIN PASSWORD 'right'");
    let dir = tempfile::tempdir().unwrap();
    let mut probe = probe(&server, CANARY, dir.path());
    let url = format!("{}/metrics", probe.address());
    let reached = |probe: &mut Program, result: &str, more_than: f64| -> f64 {
        probe.wait_for(result, |_| {
            let metrics = http::get(&url).ok()?;
            assert!(!metrics.contains(CANARY), "the password is in /metrics");
            Some(count(&metrics, result)).filter(|count| *count > more_than)
        })
    };
    reached(&mut probe, "auth", 0.0);
    // The file is read again at the next connect.
    std::fs::write(dir.path().join("secret"), "right\n").unwrap();
    reached(&mut probe, "ok", 0.0);
    server.stop();
    reached(&mut probe, "refused", 0.0);
    let answered_before = reached(&mut probe, "ok", 0.0);
    server.go();
    reached(&mut probe, "ok", answered_before);
    let page = http::get(&url.replace("/metrics", "/")).unwrap();
    assert!(!page.contains(CANARY) && !probe.log().contains(CANARY));
    assert!(probe.log().contains("result=auth"), "{}", probe.log());
    assert_eq!(probe.terminate(), Some(0));
}

//! The exporter as an operator runs it: behind TLS and passwords, under systemd, in its sandbox.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rcgen::{CertificateParams, KeyPair};
use tests::fixture::{self, Fixture};
use tests::http;
use tests::program::{Program, binary, free_port};
use tests::prometheus::Prometheus;

/// The exporter over a fixture machine, with further flags.
fn exporter(machine: &Fixture, flags: &[&str]) -> Program {
    let roots = [
        format!("--path.procfs={}", machine.procfs().display()),
        format!("--path.sysfs={}", machine.sysfs().display()),
    ];
    let roots = roots.iter().map(String::as_str);
    let flags: Vec<&str> = roots.chain(flags.iter().copied()).collect();
    Program::start("wakelag-exporter", &flags)
}

fn hang_up(program: &Program) {
    let pid = Pid::from_raw(program.pid().try_into().unwrap());
    kill(pid, Signal::SIGHUP).unwrap();
}

/// Waits for a line of the log with `text`.
fn wait_for_line(program: &mut Program, text: &str) -> String {
    program.wait_for(text, |program| {
        let log = program.log();
        log.lines()
            .find(|line| line.contains(text))
            .map(str::to_owned)
    })
}

/// Writes a certificate for 127.0.0.1 that vouches for itself.
fn certificate(dir: &Path) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    fs::write(dir.join("server.pem"), certificate.pem()).unwrap();
    fs::write(dir.join("server.key"), key.serialize_pem()).unwrap();
}

#[test]
fn prometheus_scrapes_over_tls_with_a_password_and_not_without() {
    let machine = fixture::unpack("intel-2s-icelake");
    let dir = tempfile::tempdir().unwrap();
    certificate(dir.path());
    let file = dir.path().join("web.yaml");
    let hash = bcrypt::hash("right", 4).unwrap();
    fs::write(
        &file,
        format!(
            "tls_server_config: {{cert_file: server.pem, key_file: server.key}}\n\
             basic_auth_users: {{prometheus: {hash}}}\n"
        ),
    )
    .unwrap();
    let port = free_port();
    let mut exporter = exporter(
        &machine,
        &[
            &format!("--web.listen-address=127.0.0.1:{port}"),
            &format!("--web.config.file={}", file.display()),
        ],
    );
    wait_for_line(&mut exporter, &format!("serving https://127.0.0.1:{port}/"));
    let job = |name: &str, password: &str| {
        format!(
            "- {{job_name: {name}, scheme: https, tls_config: {{ca_file: {}}}, basic_auth: {{username: prometheus, \
             password: {password}}}, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n",
            dir.path().join("server.pem").display()
        )
    };
    let prometheus = Prometheus::start(&format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n{}{}",
        job("good", "right"),
        job("bad", "wrong")
    ));
    let started = Instant::now();
    loop {
        let up = prometheus.query("up").unwrap_or_default();
        let value = |job: &str| up.iter().find(|s| s.label("job") == job).map(|s| s.value);
        if (value("good"), value("bad")) == (Some(1.0), Some(0.0)) {
            break;
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "{up:?}\n{}",
            exporter.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What the exporter can open is seen by what it says of a certificate it cannot have: with the sandbox it cannot read
/// the file, without it the file is read and is no certificate.
#[test]
fn the_sandbox_leaves_the_kernels_files_and_nothing_else() {
    for (flags, said) in [
        (
            &[][..],
            "/etc/passwd: cannot read: Permission denied (os error 13)",
        ),
        (&["--no-sandbox"], "/etc/passwd: no certificate in it"),
    ] {
        let machine = fixture::unpack("intel-2s-icelake");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("web.yaml");
        fs::write(&file, "").unwrap();
        let configuration = format!("--web.config.file={}", file.display());
        let own = ["--web.listen-address=127.0.0.1:0", &configuration];
        let flags: Vec<&str> = own.iter().chain(flags).copied().collect();
        let mut exporter = exporter(&machine, &flags);
        let url = format!("{}/metrics", exporter.address());

        // Every kernel file is opened after the sandbox was entered.
        let cpuidle = "wakelag_scrape_collector_state{collector=\"cpuidle\",state=\"ok\"} 1\n";
        let text = http::get(&url).unwrap();
        assert!(text.contains(cpuidle), "{text}");
        let memory = text
            .lines()
            .find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        assert!(
            memory.is_some_and(|bytes| bytes.parse::<f64>().unwrap() > 0.0),
            "{memory:?}"
        );

        certificate(dir.path());
        fs::write(
            &file,
            "tls_server_config: {cert_file: /etc/passwd, key_file: server.key}\n",
        )
        .unwrap();
        hang_up(&exporter);
        let line = wait_for_line(&mut exporter, "web configuration refused");
        assert!(line.contains(said), "{line}");
        // Its own files it can read again, also new ones.
        fs::write(
            &file,
            "tls_server_config: {cert_file: server.pem, key_file: server.key}\n",
        )
        .unwrap();
        hang_up(&exporter);
        wait_for_line(&mut exporter, "web configuration reloaded");

        let sandboxed = !said.contains("no certificate");
        let threads = fs::read_dir(format!("/proc/{}/task", exporter.pid())).unwrap();
        for thread in threads {
            let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            let expected = format!("NoNewPrivs:\t{}\n", u8::from(sandboxed));
            assert!(status.contains(&expected), "{status}");
        }
    }
}

/// Starts a program as systemd does: with a listening socket as descriptor 3, and a socket to report to.
const LIKE_SYSTEMD: &str = "
import os, socket, sys
listener = socket.socket()
listener.bind(('127.0.0.1', int(sys.argv[1])))
listener.listen()
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[2], sys.argv[2:])
";

#[test]
fn systemd_hands_over_the_socket_and_is_told_of_the_state() {
    let machine = fixture::unpack("intel-2s-icelake");
    let dir = tempfile::tempdir().unwrap();
    let reports = dir.path().join("notify");
    let socket = UnixDatagram::bind(&reports).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let told = || {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let port = free_port();
    let mut command = Command::new("python3");
    command
        .args(["-c", LIKE_SYSTEMD, &port.to_string()])
        .arg(binary("wakelag-exporter"))
        .arg(format!("--path.procfs={}", machine.procfs().display()))
        .arg(format!("--path.sysfs={}", machine.sysfs().display()))
        .arg("--web.systemd-socket")
        .env("NOTIFY_SOCKET", &reports);
    let mut exporter = Program::spawn("wakelag-exporter", command);

    assert_eq!(told().trim(), "READY=1");
    let healthy = format!("http://127.0.0.1:{port}/-/healthy");
    assert_eq!(http::get(&healthy).as_deref(), Ok("healthy\n"));
    hang_up(&exporter);
    let reloading = told();
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert_eq!(told().trim(), "READY=1");
    assert_eq!(exporter.terminate(), Some(0));
    assert_eq!(told().trim(), "STOPPING=1");
}

#[test]
fn without_a_socket_of_systemd_the_exporter_says_so() {
    let machine = fixture::unpack("guest-empty");
    let output = Command::new(binary("wakelag-exporter"))
        .arg(format!("--path.procfs={}", machine.procfs().display()))
        .arg("--web.systemd-socket")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("systemd handed over no socket"), "{said}");
}

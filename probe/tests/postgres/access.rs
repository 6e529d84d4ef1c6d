//! TLS against real servers: each mode, right and wrong.

use std::path::Path;
use std::process::Command;

use probe::engine::Outcome;
use tests::certificates::{Authority, Pair};
use tests::postgres::Postgres;

use super::failure;
use super::secured::Secured;

#[test]
fn each_mode_goes_on_or_not_as_libpq_does() {
    let secured = Secured::usual();
    // How it ends: with a session, with TLS that was not agreed on, or with the server's refusal of plaintext.
    for (host, tls, expected) in [
        ("127.0.0.1", "tls: {mode: disable}", Some(Outcome::Auth)),
        ("127.0.0.1", "", Some(Outcome::Auth)),
        ("127.0.0.1", "tls: {mode: require}", None),
        (
            "127.0.0.1",
            "tls: {mode: verify-ca, ca_file: DIR/ca.crt}",
            None,
        ),
        (
            "127.0.0.1",
            "tls: {mode: verify-ca, ca_file: DIR/other.crt}",
            Some(Outcome::Tls),
        ),
        (
            "localhost",
            "tls: {mode: verify-full, ca_file: DIR/ca.crt}",
            None,
        ),
        (
            "127.0.0.1",
            "tls: {mode: verify-full, ca_file: DIR/ca.crt}",
            Some(Outcome::Tls),
        ),
        (
            "127.0.0.1",
            "tls: {ca_file: DIR/ca.crt, server_name: localhost}",
            None,
        ),
        (
            "localhost",
            "tls: {ca_file: DIR/ca.crt, server_name: db1}",
            Some(Outcome::Tls),
        ),
        (
            "localhost",
            "tls: {mode: verify-full, ca_file: DIR/other.crt}",
            Some(Outcome::Tls),
        ),
    ] {
        let (session, phases) = secured.connect(host, "trust", tls);
        match expected {
            None => {
                let mut session = session.unwrap_or_else(|failure| panic!("{tls}: {failure}"));
                session.execute(&[]).unwrap();
                let peer = session.peer();
                assert_eq!((peer.transport, peer.tls), ("tcp", "TLSv1.3"), "{tls}");
                let seen = "SELECT version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                            WHERE application_name = 'wakelag-probe'";
                assert_eq!(secured.server.sql(seen), "TLSv1.3", "{tls}");
                assert!(phases.tls.is_some() && phases.auth.is_some(), "{tls}");
            }
            Some(expected) => {
                let failure = failure(session);
                assert_eq!(failure.outcome, expected, "{host} {tls}: {failure}");
                assert!(phases.connect.is_some() && phases.auth.is_none(), "{tls}");
                assert!(phases.tls.is_none(), "{tls}");
            }
        }
    }
    // What the server says of a client's alert is what somebody looks for.
    let log = secured.server.log();
    assert!(
        log.contains("alert bad certificate") || log.contains("unknown ca"),
        "{log}"
    );

    let plain = Postgres::start("host all all 127.0.0.1/32 trust");
    let address = format!("127.0.0.1:{}", plain.port);
    let refused = failure(
        secured
            .connect_to(&address, "postgres", "tls: {mode: require}")
            .0,
    );
    assert_eq!(refused.outcome, Outcome::Tls);
    assert!(refused.message.contains("takes no TLS"), "{refused}");
}

#[test]
fn a_client_is_known_by_its_certificate() {
    let secured = Secured::usual();
    secured
        .authority
        .issue(&["cert"])
        .write(secured.dir.path(), "cert");
    secured
        .authority
        .issue(&["bob"])
        .write(secured.dir.path(), "bob");
    Authority::new("other")
        .issue(&["cert"])
        .write(secured.dir.path(), "stranger");
    let with = |name: &str| {
        let lines =
            format!("tls: {{mode: require, cert_file: DIR/{name}.crt, key_file: DIR/{name}.key}}");
        secured.connect("127.0.0.1", "cert", &lines)
    };
    with("cert").0.unwrap().execute(&[]).unwrap();
    let bob = failure(with("bob").0);
    assert_eq!(bob.outcome, Outcome::Auth, "{bob}");
    // In TLS 1.3 the server looks at it when the client already goes on.
    for _ in 0..20 {
        let (session, phases) = with("stranger");
        let stranger = failure(session);
        assert_eq!(stranger.outcome, Outcome::Tls, "{stranger}");
        assert!(phases.auth.is_none());
    }
    let nobody = failure(
        secured
            .connect("127.0.0.1", "cert", "tls: {mode: require}")
            .0,
    );
    assert_eq!(nobody.outcome, Outcome::Auth, "{nobody}");
}

/// The server certificate of PostgreSQL's manual: RSA, self-signed, an authority's by OpenSSL's default.
#[test]
fn the_certificate_of_the_manual_is_trusted_by_being_given() {
    let dir = tempfile::tempdir().unwrap();
    let made = Command::new("openssl")
        .args([
            "req", "-new", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-out",
            "server.crt",
            "-keyout",
            "server.key",
        ])
        .current_dir(dir.path())
        .output()
        .expect("openssl is missing: this test needs Debian's package of that name");
    assert!(made.status.success(), "{made:?}");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let pair = Pair {
        certificate: read("server.crt"),
        key: read("server.key"),
    };
    let secured = Secured::start(Authority::new("ours"), &pair);
    std::fs::write(secured.dir.path().join("server.crt"), &pair.certificate).unwrap();
    let with = |mode: &str, file: &str| {
        let lines = format!(
            "tls: {{mode: {mode}, ca_file: DIR/{file}}}\nchannel_binding: require\npassword_file: DIR/password"
        );
        secured.connect("localhost", "scram", &lines).0
    };
    with("verify-ca", "server.crt")
        .unwrap()
        .execute(&[])
        .unwrap();
    let stranger = failure(with("verify-ca", "ca.crt"));
    assert!(
        stranger
            .message
            .contains("give this very certificate as `ca_file`"),
        "{stranger}"
    );
    // It has a common name alone.
    let nameless = failure(with("verify-full", "server.crt"));
    assert!(
        nameless.message.contains("subject alternative names"),
        "{nameless}"
    );
}

/// The program against `server` with a configuration of one target, at the level of logging that says most.
fn bench(dir: &Path, address: &str, user: &str, lines: &str, roots: &str) -> (bool, String) {
    let file = dir.join("probe.yaml");
    let text = format!(
        "targets:\n  - name: t\n    engine: postgres\n    address: {address}\n    database: postgres\n    user: {user}\n    \
         node: n\n    workloads: [select1]\n{lines}"
    );
    std::fs::write(&file, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_wakelag-probe"))
        .args([
            "bench",
            "--target=t",
            "--workload=select1",
            "--seconds=1",
            "--log.level=trace",
        ])
        .arg(format!("--config.file={}", file.display()))
        .env("CREDENTIALS_DIRECTORY", dir)
        .env("SSL_CERT_FILE", dir.join(roots))
        .env("SSL_CERT_DIR", "/nonexistent")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Roots of the host, a password by systemd, and not a word of it in what the program says.
#[test]
fn the_program_takes_this_hosts_authorities_and_systemds_credentials_and_keeps_its_secrets() {
    let secured = Secured::usual();
    let address = format!("localhost:{}", secured.server.port);
    let run = |user: &str, password: &str, roots: &str| {
        let lines = secured.lines(&format!(
            "tls: {{mode: verify-full}}\npassword_credential: {password}"
        ));
        let (went_well, said) = bench(secured.dir.path(), &address, user, &lines, roots);
        assert!(!said.contains("canary"), "{said}");
        (went_well, said)
    };
    for user in ["md5", "scram", "clear"] {
        let (went_well, said) = run(user, "password", "ca.crt");
        assert!(went_well && said.contains("TLSv1.3"), "{said}");
        let (went_well, said) = run(user, "wrong", "ca.crt");
        assert!(!went_well && said.contains("28P01"), "{said}");
    }
    let (went_well, said) = run("scram", "password", "other.crt");
    assert!(
        !went_well && said.contains("tls: invalid peer certificate"),
        "{said}"
    );
    let (went_well, said) = run("scram", "password", "nowhere.crt");
    assert!(
        !went_well && said.contains("probe.yaml:9:17: this host has no root certificates"),
        "{said}"
    );
    let (went_well, said) = run("scram", "nowhere", "ca.crt");
    assert!(
        !went_well && said.contains("probe.yaml:10:26: password_credential "),
        "{said}"
    );
}

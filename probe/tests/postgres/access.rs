//! TLS and authentication against real servers: each way in, right and wrong.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use probe::engine::{Failure, Outcome, Phases, Session};
use tests::certificates::{Authority, Pair};
use tests::postgres::Postgres;

use super::between::Between;
use super::{config, connect, failure};

/// A server with TLS, and what its clients need in a directory of their own: `ca.crt` of the server's authority,
/// `other.crt` of a strange one, `password` and `wrong`.
struct Secured {
    server: Postgres,
    dir: tempfile::TempDir,
    authority: Authority,
}

const PASSWORD: &str = "päss canary word";

impl Secured {
    /// Roles are called as they authenticate: trust, md5, scram, clear, and cert by the certificate of that name.
    fn start(authority: Authority, pair: &Pair) -> Self {
        let hba = "hostssl all cert 127.0.0.1/32 cert\n\
                   hostssl all trust 127.0.0.1/32 trust\n\
                   hostssl all md5 127.0.0.1/32 md5\n\
                   hostssl all scram 127.0.0.1/32 scram-sha-256\n\
                   hostssl all clear 127.0.0.1/32 password";
        let settings = "ssl = on\nssl_ca_file = 'ca.crt'";
        let files = [
            ("server.crt", pair.certificate.as_str()),
            ("server.key", pair.key.as_str()),
            ("ca.crt", &authority.pem()),
        ];
        let server = Postgres::start_with(hba, settings, &files);
        let mut sql = "CREATE ROLE trust LOGIN; CREATE ROLE cert LOGIN;".to_owned();
        for (role, kept) in [("md5", "md5"), ("scram", "scram-sha-256"), ("clear", "md5")] {
            write!(
                sql,
                "SET password_encryption = '{kept}'; CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}';"
            )
            .unwrap();
        }
        server.sql(&sql);
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("ca.crt", authority.pem()),
            ("other.crt", Authority::new("other").pem()),
            ("password", PASSWORD.to_owned()),
            ("wrong", "canary".to_owned()),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Secured {
            server,
            dir,
            authority,
        }
    }

    /// With an authority and a certificate of the usual kind, for `localhost` alone.
    fn usual() -> Self {
        let authority = Authority::new("ours");
        let pair = authority.issue(&["localhost"]);
        Secured::start(authority, &pair)
    }

    /// Lines about a target, with `DIR` in them for the directory.
    fn lines(&self, lines: &str) -> String {
        let lines = lines.replace("DIR", &self.dir.path().display().to_string());
        format!("    {}\n", lines.replace('\n', "\n    "))
    }

    /// Connects as `user` to `host`, with further `lines` about the target.
    fn connect(
        &self,
        host: &str,
        user: &str,
        lines: &str,
    ) -> (Result<Box<dyn Session>, Failure>, Phases) {
        self.connect_to(&format!("{host}:{}", self.server.port), user, lines)
    }

    fn connect_to(
        &self,
        address: &str,
        user: &str,
        lines: &str,
    ) -> (Result<Box<dyn Session>, Failure>, Phases) {
        let config = config(address, user, &self.lines(lines), "SELECT 1", "");
        connect(&config, 0)
    }
}

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

const VERIFIED: &str = "tls: {mode: verify-full, ca_file: DIR/ca.crt}";

#[test]
fn every_way_to_authenticate_under_tls_and_what_binding_it_refuses() {
    let secured = Secured::usual();
    for (user, binds) in [
        ("trust", false),
        ("md5", false),
        ("clear", false),
        ("scram", true),
    ] {
        for (binding, goes_on) in [("disable", true), ("prefer", true), ("require", binds)] {
            let lines =
                format!("{VERIFIED}\nchannel_binding: {binding}\npassword_file: DIR/password");
            let case = format!("{user} {binding}");
            match secured.connect("localhost", user, &lines).0 {
                Ok(mut session) => {
                    assert!(goes_on, "{case}");
                    session.execute(&[]).unwrap();
                }
                Err(failure) => {
                    assert!(!goes_on, "{case}: {failure}");
                    assert_eq!(failure.outcome, Outcome::Auth, "{case}: {failure}");
                    assert!(
                        failure.message.contains("channel_binding is required"),
                        "{failure}"
                    );
                }
            }
        }
        if user != "trust" {
            let lines = format!("{VERIFIED}\npassword_file: DIR/wrong");
            let wrong = failure(secured.connect("localhost", user, &lines).0);
            assert_eq!(wrong.outcome, Outcome::Auth, "{user}: {wrong}");
            assert!(wrong.message.contains("28P01"), "{wrong}");
        }
    }
}

/// The hash is the one of the certificate's signature, whatever that is.
#[test]
fn channel_binding_follows_the_signature_of_the_certificate() {
    for (algorithm, can_bind) in [
        (&rcgen::PKCS_ECDSA_P384_SHA384, true),
        (&rcgen::PKCS_ED25519, false),
    ] {
        let authority = Authority::with("ours", algorithm);
        let pair = authority.issue(&["localhost"]);
        let secured = Secured::start(authority, &pair);
        let with = |binding: &str| {
            let lines =
                format!("{VERIFIED}\nchannel_binding: {binding}\npassword_file: DIR/password");
            secured.connect("localhost", "scram", &lines).0
        };
        with("prefer").unwrap().execute(&[]).unwrap();
        match with("require") {
            Ok(mut session) => {
                assert!(can_bind);
                session.execute(&[]).unwrap();
            }
            Err(failure) => {
                assert!(!can_bind, "{failure}");
                assert!(failure.message.contains("no hash to bind to"), "{failure}");
            }
        }
    }
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

/// Somebody between whose certificate is as good as the server's passes everything on, but a bound authentication.
#[test]
fn somebody_between_is_found_by_channel_binding_alone() {
    let secured = Secured::usual();
    let between = Between::start(
        &secured.authority.issue(&["localhost"]),
        secured.server.port,
    );
    let with = |binding: &str| {
        let lines = format!("{VERIFIED}\nchannel_binding: {binding}\npassword_file: DIR/password");
        secured
            .connect_to(&format!("localhost:{}", between.port), "scram", &lines)
            .0
    };
    with("disable").unwrap().execute(&[]).unwrap();
    for binding in ["prefer", "require"] {
        let failure = failure(with(binding));
        assert_eq!(failure.outcome, Outcome::Auth, "{failure}");
        assert!(failure.message.contains("channel binding"), "{failure}");
    }
}

#[test]
fn a_changed_password_and_a_renewed_authority_are_used_at_the_next_connect() {
    let secured = Secured::usual();
    let address = format!("localhost:{}", secured.server.port);
    let lines = secured.lines(&format!("{VERIFIED}\npassword_file: DIR/password"));
    let config = config(&address, "scram", &lines, "SELECT 1", "");
    let connect = || connect(&config, 0).0;
    connect().unwrap();
    secured.server.sql("ALTER ROLE scram PASSWORD 'another'");
    assert_eq!(failure(connect()).outcome, Outcome::Auth);
    let file = |name: &str| secured.dir.path().join(name);
    std::fs::write(file("password"), "another\n").unwrap();
    connect().unwrap();
    std::fs::copy(file("other.crt"), file("ca.crt")).unwrap();
    assert_eq!(failure(connect()).outcome, Outcome::Tls);
    std::fs::remove_file(file("ca.crt")).unwrap();
    let missing = failure(connect());
    assert_eq!(missing.outcome, Outcome::Tls);
    assert!(missing.message.starts_with("tls: ca_file: "), "{missing}");
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

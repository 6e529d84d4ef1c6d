//! The probe against a real MariaDB server.

// clippy.toml allows these in test functions; here the helpers beside them are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "mysql/lanes.rs"]
mod lanes;
#[path = "harness/real.rs"]
mod real;

use probe::config::Config;
use probe::engine::Outcome;
use real::{connect, failure, wait_until};
use tests::certificates::Authority;
use tests::mariadb::Mariadb;

/// A configuration of one target `t` over `address`, with a workload `w`.
fn config(address: &str, user: &str, rest: &str, query: &str, workload: &str) -> Config {
    real::config("mysql", address, user, rest, query, workload)
}

fn over_unix(server: &Mariadb, rest: &str, query: &str, workload: &str) -> Config {
    let address = format!("unix:{}", server.socket().display());
    config(&address, "root", rest, query, workload)
}

#[test]
fn every_way_to_authenticate_and_nothing_asked_beside_the_query() {
    let server = Mariadb::start(&["--plugin-load-add=auth_ed25519", "--general-log=ON"]);
    server.sql(
        "CREATE USER native@'%' IDENTIFIED BY 'päss word';
         CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('päss word');
         CREATE USER empty@'%'; SET GLOBAL log_output = 'TABLE'",
    );
    let dir = tempfile::tempdir().unwrap();
    let (right, wrong) = (dir.path().join("right"), dir.path().join("wrong"));
    std::fs::write(&right, "päss word\n").unwrap();
    std::fs::write(&wrong, "päss\n").unwrap();
    let address = format!("localhost:{}", server.port);

    for user in ["native", "ed"] {
        let with = |rest: &str| connect(&config(&address, user, rest, "SELECT 1", ""), 0);
        let (session, phases) = with(&format!("    password_file: {}\n", right.display()));
        let mut session = session.unwrap();
        // A server on this host is no reason to take another way to it.
        assert_eq!(session.peer().transport, "tcp", "{user}");
        assert_eq!(
            (session.peer().engine, session.peer().tls),
            ("mariadb", "none")
        );
        let version = server.sql("SELECT @@version");
        assert_eq!(session.peer().version, version);
        assert!(session.execute(&[]).unwrap().first_row.is_some());
        assert!(phases.resolve.is_some() && phases.connect.is_some() && phases.auth.is_some());
        let program = "SELECT 1";
        drop(session);
        let asked = "SELECT command_type, argument FROM mysql.general_log WHERE command_type IN ('Query', 'Prepare', \
                     'Execute') AND user_host LIKE '%[native]%' OR user_host LIKE '%[ed]%' AND command_type IN \
                     ('Query', 'Prepare', 'Execute')";
        let expected = format!("Prepare\t{program}\nExecute\t{program}");
        wait_until("the log", || server.sql(asked) == expected);
        server.sql("TRUNCATE mysql.general_log");

        let (refused, phases) = with(&format!("    password_file: {}\n", wrong.display()));
        let refused = failure(refused);
        assert_eq!(refused.outcome, Outcome::Auth, "{user}: {refused}");
        assert!(refused.message.contains("(1045)"), "{refused}");
        assert!(phases.connect.is_some() && phases.auth.is_none());
        assert_eq!(failure(with("").0).outcome, Outcome::Auth, "{user}");
        server.sql("TRUNCATE mysql.general_log");
    }
    let mut session = connect(&config(&address, "empty", "", "SELECT 1", ""), 0)
        .0
        .unwrap();
    session.execute(&[]).unwrap();
    let closed = "    database: mysql\n";
    let closed = failure(connect(&config(&address, "empty", closed, "SELECT 1", ""), 0).0);
    assert_eq!(closed.outcome, Outcome::Auth, "{closed}");
    let (session, phases) = connect(
        &over_unix(&server, "    database: mysql\n", "SELECT 1", ""),
        0,
    );
    assert_eq!(session.unwrap().peer().transport, "unix");
    assert!(phases.resolve.is_none());
}

#[test]
fn what_the_server_refuses_falls_into_its_class() {
    let server = Mariadb::start(&["--innodb-lock-wait-timeout=1"]);
    server.sql("CREATE DATABASE d; CREATE TABLE d.locked (id int PRIMARY KEY); INSERT INTO d.locked VALUES (1)");
    server.sql("CREATE USER limited@localhost WITH MAX_STATEMENT_TIME 0.2");
    let limits = "    timeout: {query: 3s}\n";
    for protocol in ["prepared", "simple"] {
        let protocol =
            format!("    protocol: {protocol}\n    params: [{{int: {{uniform: [0, 0]}}}}]\n");
        let sessions = |query: &str| connect(&over_unix(&server, limits, query, &protocol), 0).0;
        let mut session = sessions("UPDATE d.locked SET id = 1 WHERE id = 1 + ?").unwrap();
        session.execute(&[0]).unwrap();
        let holder = server.session("BEGIN; SELECT * FROM d.locked FOR UPDATE;");
        let locked = failure(session.execute(&[0]));
        let expected = (Outcome::LockTimeout, true);
        assert_eq!((locked.outcome, locked.usable), expected, "{locked}");
        drop(holder);
        session.execute(&[0]).unwrap();

        let mut session = sessions("SELECT ? * (SELECT id FROM d.locked UNION SELECT 2)").unwrap();
        let wrong = failure(session.execute(&[1]));
        assert_eq!(
            (wrong.outcome, wrong.usable),
            (Outcome::ServerError, true),
            "{wrong}"
        );
        assert!(wrong.message.contains("(1242)"), "{wrong}");
        assert!(session.execute(&[1]).is_err());

        let address = format!("unix:{}", server.socket().display());
        let endless = "SELECT ? + count(*) FROM information_schema.collations AS a, information_schema.collations AS b, \
                       information_schema.collations AS c, information_schema.collations AS d";
        let limited = config(&address, "limited", limits, endless, &protocol);
        let late = failure(connect(&limited, 0).0.unwrap().execute(&[1]));
        assert_eq!(
            (late.outcome, late.usable),
            (Outcome::Timeout, true),
            "{late}"
        );

        // Without a limit on the server the deadline is ours, and costs the connection.
        let mut session = sessions("SELECT SLEEP(?)").unwrap();
        let late = failure(session.execute(&[10]));
        assert_eq!(
            (late.outcome, late.usable),
            (Outcome::Timeout, false),
            "{late}"
        );

        // Rows without end, in more than one packet and none.
        let long =
            "SELECT REPEAT('x', 1000000), ? FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3) AS t";
        let timings = sessions(long).unwrap().execute(&[1]).unwrap();
        assert!(timings.first_row.unwrap() <= timings.last_row.unwrap());
        let none = sessions("SELECT 1 FROM d.locked WHERE id = -?")
            .unwrap()
            .execute(&[7])
            .unwrap();
        assert!(none.first_row.is_none());

        let mut session = sessions("SELECT ? - 1").unwrap();
        session.execute(&[i64::MIN + 1]).unwrap();
    }
    let missing = failure(connect(&over_unix(&server, "", "SELECT * FROM d.nowhere", ""), 0).0);
    assert_eq!(missing.outcome, Outcome::ServerError, "{missing}");
    let more = failure(connect(&over_unix(&server, "", "SELECT ?", ""), 0).0);
    assert!(
        more.message.contains("1 placeholders, and 0 `params`"),
        "{more}"
    );

    server.sql("SET GLOBAL max_allowed_packet = 64 << 20");
    let huge = "SELECT REPEAT('x', 0xffffff - 4), 1 UNION SELECT REPEAT('y', 40 << 20), 2";
    let timings = connect(
        &over_unix(&server, "    timeout: {query: 30s}\n", huge, ""),
        0,
    )
    .0;
    timings.unwrap().execute(&[]).unwrap();

    server.sql(
        "DELIMITER //\nCREATE PROCEDURE d.several() BEGIN SELECT 1; SELECT 2, 3; DO 1; END //",
    );
    for protocol in ["prepared", "simple"] {
        let protocol = format!("    protocol: {protocol}\n");
        let mut session = connect(&over_unix(&server, "", "CALL d.several()", &protocol), 0)
            .0
            .unwrap();
        for _ in 0..3 {
            session.execute(&[]).unwrap();
        }
    }
    server.sql("CREATE USER full@localhost WITH MAX_USER_CONNECTIONS 1");
    let address = format!("unix:{}", server.socket().display());
    let full = config(&address, "full", "", "SELECT 1", "");
    let _first = connect(&full, 0).0.unwrap();
    let second = failure(connect(&full, 0).0);
    assert_eq!(second.outcome, Outcome::TooManyConnections, "{second}");
}

#[test]
fn the_probes_own_rows_are_made_once_or_asked_for() {
    let server = Mariadb::start(&[]);
    server.sql("CREATE USER guest@'%'");
    let guest = config(
        &format!("127.0.0.1:{}", server.port),
        "guest",
        "",
        "SELECT 1",
        "",
    );
    let denied = failure(connect(&guest, 1).0);
    assert_eq!(denied.outcome, Outcome::ServerError);
    assert!(denied.message.contains("denied"), "{denied}");
    // What the message says to run is what is needed.
    let (_, sql) = denied.message.split_once("run:\n").unwrap();
    server.sql(sql);
    let mut session = connect(&guest, 1).0.unwrap();
    for id in [1, 1000] {
        assert!(session.execute(&[id]).unwrap().first_row.is_some());
    }
    assert!(session.execute(&[1001]).unwrap().first_row.is_none());

    server.sql("DROP DATABASE wakelag");
    let owner = over_unix(&server, "", "SELECT 1", "");
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| connect(&owner, 1).0.unwrap().execute(&[7]).unwrap()))
            .collect();
        for lane in lanes {
            assert!(lane.join().unwrap().first_row.is_some());
        }
    });
    let rows = "SELECT count(*), min(id), max(id), min(length(pad)) FROM wakelag.point";
    assert_eq!(server.sql(rows), "1000\t1\t1000\t100");
}

#[test]
fn tls_is_as_the_mode_says_or_none() {
    let dir = tempfile::Builder::new()
        .prefix("wakelag-tls-")
        .tempdir_in("/tmp")
        .unwrap();
    std::fs::set_permissions(
        dir.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let ca = Authority::new("ca");
    let ca_file = dir.path().join("ca.crt");
    std::fs::write(&ca_file, ca.pem()).unwrap();
    let (cert, key) = ca.issue(&["db1"]).write(dir.path(), "server");
    // Not ours to keep secret from the server's user.
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let server = Mariadb::start(&[
        &format!("--ssl-cert={}", cert.display()),
        &format!("--ssl-key={}", key.display()),
    ]);
    server.sql("CREATE USER tls@'%' REQUIRE SSL");
    let address = format!("127.0.0.1:{}", server.port);
    let with = |tls: &str| {
        let tls = tls.replace("CA", &ca_file.display().to_string());
        connect(
            &config(
                &address,
                "tls",
                &format!("    tls: {{{tls}}}\n"),
                "SELECT 1",
                "",
            ),
            0,
        )
    };
    for tls in [
        "mode: require",
        "mode: verify-ca, ca_file: CA",
        "mode: verify-full, ca_file: CA, server_name: db1",
    ] {
        let (session, phases) = with(tls);
        let mut session = session.unwrap();
        assert!(session.peer().tls.starts_with("TLSv1."), "{tls}");
        session.execute(&[]).unwrap();
        assert!(phases.connect.is_some() && phases.tls.is_some() && phases.auth.is_some());
    }
    for (tls, outcome) in [
        ("mode: verify-full, ca_file: CA", Outcome::Tls),
        ("mode: disable", Outcome::Auth),
    ] {
        let refused = failure(with(tls).0);
        assert_eq!(refused.outcome, outcome, "{tls}: {refused}");
    }
}

//! The probe against real PostgreSQL servers.

// clippy.toml allows these in test functions; here the helpers beside them are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "postgres/access.rs"]
mod access;
#[path = "postgres/authentication.rs"]
mod authentication;
#[path = "postgres/between.rs"]
mod between;
#[path = "postgres/pipeline.rs"]
mod pipeline;
#[path = "harness/real.rs"]
mod real;
#[path = "postgres/secured.rs"]
mod secured;

use probe::config::{self, Config};
use probe::engine::Outcome;
use probe::prober::Prober;
use real::{connect, counter, failure, queries, wait_until};
use tests::postgres::Postgres;

/// A configuration of one target `t` over `address`, with a workload `w`.
fn config(address: &str, user: &str, rest: &str, query: &str, workload: &str) -> Config {
    let rest = format!("    database: postgres\n{rest}");
    real::config("postgres", address, user, &rest, query, workload)
}

fn over_unix(server: &Postgres, rest: &str, query: &str, workload: &str) -> Config {
    let address = format!("unix:{}", server.socket().display());
    config(&address, "postgres", rest, query, workload)
}

#[test]
fn every_way_to_authenticate() {
    let server = Postgres::start(
        "host all md5 127.0.0.1/32 md5\n\
         host all scram 127.0.0.1/32 scram-sha-256\n\
         host all clear 127.0.0.1/32 password",
    );
    server.sql("SET password_encryption = 'md5'; CREATE ROLE md5 LOGIN PASSWORD 'päss word'");
    server.sql("CREATE ROLE scram LOGIN PASSWORD 'päss word'; CREATE ROLE clear LOGIN PASSWORD 'päss word'");
    let dir = tempfile::tempdir().unwrap();
    let (right, wrong) = (dir.path().join("right"), dir.path().join("wrong"));
    std::fs::write(&right, "päss word\n").unwrap();
    std::fs::write(&wrong, "päss\n").unwrap();

    let (session, phases) = connect(&over_unix(&server, "", "SELECT 1", ""), 0);
    let mut session = session.unwrap();
    assert_eq!(session.peer().transport, "unix");
    assert!(
        session.peer().version.starts_with("15."),
        "{:?}",
        session.peer()
    );
    assert!(session.execute(&[]).unwrap().first_row.is_some());
    assert!(phases.resolve.is_none() && phases.connect.is_some() && phases.auth.is_some());

    for user in ["md5", "scram", "clear"] {
        let with = |rest: &str| {
            let address = format!("localhost:{}", server.port);
            connect(&config(&address, user, rest, "SELECT 1", ""), 0)
        };
        let (session, phases) = with(&format!("    password_file: {}\n", right.display()));
        let mut session = session.unwrap();
        assert_eq!(session.peer().transport, "tcp", "{user}");
        session.execute(&[]).unwrap();
        assert!(phases.resolve.is_some() && phases.connect.is_some() && phases.auth.is_some());

        let (refused, phases) = with(&format!("    password_file: {}\n", wrong.display()));
        let refused = failure(refused);
        assert_eq!(refused.outcome, Outcome::Auth, "{user}: {refused}");
        assert!(refused.message.contains("28P01"), "{refused}");
        assert!(phases.connect.is_some() && phases.auth.is_none());

        let refused = failure(with("").0);
        assert_eq!(refused.outcome, Outcome::Auth, "{user}: {refused}");
        assert!(refused.message.contains("give password_file"), "{refused}");
    }
    let address = format!("127.0.0.1:{}", server.port);
    let unlisted = failure(connect(&config(&address, "postgres", "", "SELECT 1", ""), 0).0);
    assert_eq!(unlisted.outcome, Outcome::Auth, "{unlisted}");
}

#[test]
fn what_the_server_refuses_falls_into_its_class() {
    let server = Postgres::start("");
    server.sql("CREATE TABLE locked (id int)");
    let limits = "    timeout: {query: 400ms}\n";
    for protocol in ["prepared", "simple"] {
        let protocol = format!("    protocol: {protocol}\n");
        let sessions = |query: &str| {
            let param = "    params: [{int: {uniform: [0, 0]}}]\n";
            let config = over_unix(&server, limits, query, &format!("{protocol}{param}"));
            connect(&config, 0).0
        };
        // The server gives up first, and the session goes on.
        let mut session = sessions("SELECT pg_sleep($1)").unwrap();
        let late = failure(session.execute(&[5]));
        assert_eq!(
            (late.outcome, late.usable),
            (Outcome::Timeout, true),
            "{late}"
        );
        session.execute(&[0]).unwrap();

        let mut session = sessions("SELECT count(*) + $1 FROM locked").unwrap();
        session.execute(&[1]).unwrap();
        let holder = server.session("BEGIN; LOCK TABLE locked;");
        let locked = failure(session.execute(&[1]));
        assert_eq!(
            (locked.outcome, locked.usable),
            (Outcome::LockTimeout, true),
            "{locked}"
        );
        drop(holder);
        session.execute(&[1]).unwrap();

        let mut session = sessions("SELECT 1 / $1").unwrap();
        let wrong = failure(session.execute(&[0]));
        assert_eq!(
            (wrong.outcome, wrong.usable),
            (Outcome::ServerError, true),
            "{wrong}"
        );
        assert!(wrong.message.contains("division by zero"), "{wrong}");
        session.execute(&[-1]).unwrap();
    }
    let mut session = connect(&over_unix(&server, limits, "DEALLOCATE ALL", ""), 0)
        .0
        .unwrap();
    session.execute(&[]).unwrap();
    let missing = failure(session.execute(&[]));
    assert_eq!(missing.outcome, Outcome::PreparedMissing, "{missing}");

    let missing = failure(connect(&over_unix(&server, "", "SELECT * FROM nowhere", ""), 0).0);
    assert_eq!(missing.outcome, Outcome::ServerError, "{missing}");

    server.sql("CREATE ROLE full LOGIN CONNECTION LIMIT 0");
    let address = format!("unix:{}", server.socket().display());
    let full = failure(connect(&config(&address, "full", "", "SELECT 1", ""), 0).0);
    assert_eq!(full.outcome, Outcome::TooManyConnections, "{full}");
}

#[test]
fn the_probes_own_rows_are_made_once_or_asked_for() {
    let server = Postgres::start("");
    server.sql("CREATE ROLE guest LOGIN; REVOKE CREATE ON DATABASE postgres FROM PUBLIC");
    let address = format!("unix:{}", server.socket().display());
    let guest = config(&address, "guest", "", "SELECT 1", "");
    let denied = failure(connect(&guest, 1).0);
    assert_eq!(denied.outcome, Outcome::ServerError);
    assert!(denied.message.contains("permission denied"), "{denied}");
    assert_eq!(server.sql("SELECT to_regclass('wakelag.point')"), "");
    // What the message says to run is what is needed.
    let (_, sql) = denied.message.split_once("run:\n").unwrap();
    server.sql(sql);
    let mut session = connect(&guest, 1).0.unwrap();
    for id in [1, 1000] {
        assert!(session.execute(&[id]).unwrap().first_row.is_some());
    }
    assert!(session.execute(&[1001]).unwrap().first_row.is_none());

    server.sql("DROP SCHEMA wakelag CASCADE");
    // A lane that arrives while another one makes them waits for it.
    let other =
        server.session("BEGIN; SELECT pg_advisory_xact_lock(7809911); CREATE SCHEMA wakelag;");
    let owner = over_unix(&server, "", "SELECT 1", "");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| connect(&owner, 1).0.unwrap().execute(&[7]).unwrap());
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        wait_until("a lock that is waited for", || server.sql(waiting) == "1");
        other.end("COMMIT;");
        waits.join().unwrap();
    });
    assert_eq!(
        server.sql("SELECT count(*), min(id), max(id) FROM wakelag.point"),
        "1000|1|1000"
    );
}

#[test]
fn lanes_go_on_by_themselves_after_a_lost_backend_and_a_restart() {
    let server = Postgres::start("");
    let mut config = over_unix(&server, "", "SELECT 1", "");
    config.targets[0].workloads.truncate(1);
    let prober = Prober::start(config).unwrap();
    let reconnects = || counter(&prober, "wakelag_probe_reconnects_total", "workload", "w");
    let up = || counter(&prober, "wakelag_probe_up", "target", "t");
    let goes_on = |after: &str| {
        let so_far = queries(&prober, "ok");
        wait_until(after, || queries(&prober, "ok") > so_far + 3.0);
        assert_eq!(up(), 1.0, "{after}");
    };
    let ours = "pg_stat_activity WHERE application_name = 'wakelag-probe'";
    goes_on("the start");
    assert_eq!(reconnects(), 0.0);
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {ours}")), "1");

    server.sql(&format!("SELECT pg_terminate_backend(pid) FROM {ours}"));
    wait_until("reconnect", || reconnects() == 1.0);
    goes_on("a terminated backend");
    assert_eq!(queries(&prober, "disconnected"), 1.0);
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {ours}")), "1");

    let pid = server
        .sql(&format!("SELECT pid FROM {ours}"))
        .parse()
        .unwrap();
    let pid = nix::unistd::Pid::from_raw(pid);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    wait_until("reconnect", || reconnects() == 2.0);
    goes_on("a killed backend");

    server.stop();
    wait_until("refused", || queries(&prober, "refused") > 0.0);
    assert_eq!(up(), 0.0);
    server.go();
    wait_until("reconnect", || reconnects() == 3.0);
    goes_on("a restart");
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {ours}")), "1");

    let info = "wakelag_probe_target_info";
    assert_eq!(counter(&prober, info, "transport", "unix"), 1.0);
    assert_eq!(counter(&prober, info, "tls", "none"), 1.0);
    prober.stop();
    wait_until("good-bye", || {
        server.sql(&format!("SELECT count(*) FROM {ours}")) == "0"
    });
}

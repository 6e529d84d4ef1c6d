//! Good and bad files as a user writes them, each bad one with its exact message.

use super::*;

mod workloads;

fn message(text: &str) -> String {
    match parse(Path::new("probe.yaml"), text) {
        Ok(config) => panic!("accepted as {config:?}"),
        Err(error) => error.to_string(),
    }
}

const LEAST: &str = "
targets:
  - name: file
    engine: sqlite
    path: app.db
    workloads: [select1]
";

#[test]
fn the_least_a_target_needs() {
    let config = parse(Path::new("/etc/wakelag/probe.yaml"), LEAST).unwrap();
    let target = &config.targets[0];
    assert_eq!(target.name, "file");
    assert_eq!(target.node, check::this_host());
    assert_eq!(target.timeout, check::DEFAULT_TIMEOUT);
    assert_eq!(
        target.access,
        Access::Sqlite {
            path: PathBuf::from("/etc/wakelag/app.db"),
            create: false
        }
    );
    assert_eq!(target.workloads[0].name, "select1");
}

#[test]
fn everything_a_target_may_say() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "canary\n").unwrap();
    let text = "
targets:
  - name: orders
    engine: postgres
    address: db1.example.org:5432
    database: bench
    user: probe
    password_file: secret
    tls: {mode: disable}
    node: db1
    profile_from: http://db1:9973
    timeout: {connect: 500ms, query: 2s}
    cpu: 3
    scheduling: fifo:10
    workloads: [by-customer, point-select]
workloads:
  - name: by-customer
    query: SELECT count(*) FROM orders WHERE customer = $1
    params: [{int: {uniform: [1, 100000]}}]
    protocol: simple
    pattern: {every: 250ms, queries: 4}
    lanes: 2
";
    let config = parse(&dir.path().join("probe.yaml"), text).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    let target = &config.targets[0];
    assert_eq!(target.node, "db1");
    assert_eq!(
        target.profile_from,
        Some(hyper::Uri::from_static("http://db1:9973"))
    );
    assert_eq!(target.timeout.connect, Duration::from_millis(500));
    assert_eq!(target.placement.cpu, Some(3));
    assert_eq!(target.placement.scheduling, Scheduling::Fifo(10));
    let Access::Postgres(server) = &target.access else {
        panic!("{:?}", target.access)
    };
    assert_eq!(server.database.as_deref(), Some("bench"));
    let password = server.password.as_ref().unwrap().read().unwrap();
    assert_eq!(password.reveal(), "canary");
    let own = &target.workloads[0];
    assert_eq!(own.pattern.every, Duration::from_millis(250));
    assert_eq!((own.pattern.queries, own.lanes), (4, 2));
    assert_eq!(own.statement.protocol, crate::workload::Protocol::Simple);
    assert_eq!(
        target.workloads[1].statement.text,
        "SELECT pad FROM wakelag.point WHERE id = $1"
    );
}

/// A target's lines from the fifth on, and the message about the whole file.
#[test]
fn a_bad_target_is_refused_where_it_is_bad() {
    let cases = [
        (
            "    workloads: [select1]\n    colour: red\n",
            "10:5: targets[0]: unknown field `colour`, expected one of `name`, `engine`, `address`, `path`, `database`, \
             `user`, `password_file`, `password_env`, `password_credential`, `tls`, `channel_binding`, `get_server_public_key`, `node`, \
             `profile_from`, `timeout`, `cpu`, `scheduling`, `workloads`",
        ),
        (
            "    workloads: [select1, selct1]\n",
            "9:26: no workload is named `selct1`; known: select1, select1-idle, point-select",
        ),
        (
            "    workloads: [select1, select1]\n",
            "9:26: workload `select1` is named twice",
        ),
        (
            "    workloads: []\n",
            "9:16: no workloads; name at least one, such as select1",
        ),
        (
            "    timeout: {query: 5}\n    workloads: [select1]\n",
            "9:22: targets[0].timeout.query: `5` is not a duration; write a whole number and us, ms, s or m, such as 250ms",
        ),
        (
            "    timeout: {query: 1us}\n    workloads: [select1]\n",
            "9:14: a timeout must be 10ms to 5m",
        ),
        (
            "    scheduling: fifo:100\n    workloads: [select1]\n",
            "9:17: targets[0].scheduling: `fifo:100` is not a scheduling policy; write other, batch or fifo:1 to fifo:99",
        ),
        (
            "    password_file: nowhere\n    workloads: [select1]\n",
            "9:20: password_file nowhere: cannot read: No such file or directory (os error 2)",
        ),
        (
            "    path: x.db\n    workloads: [select1]\n",
            "9:11: `path` is for sqlite; use `address`",
        ),
        (
            "    password: hunter2\n    workloads: [select1]\n",
            "9:5: targets[0]: unknown field `password`, expected one of `name`, `engine`, `address`, `path`, `database`, \
             `user`, `password_file`, `password_env`, `password_credential`, `tls`, `channel_binding`, `get_server_public_key`, `node`, \
             `profile_from`, `timeout`, `cpu`, `scheduling`, `workloads`",
        ),
        (
            "    tls: {mode: prefer}\n    workloads: [select1]\n",
            "9:17: targets[0].tls.mode: unknown variant `prefer`, expected one of `disable`, `require`, `verify-ca`, \
             `verify-full`",
        ),
        (
            "    password_env: HOME\n    password_credential: pg\n    workloads: [select1]\n",
            "10:26: give `password_env` or `password_credential`, not both",
        ),
        (
            "    password_credential: ../pg\n    workloads: [select1]\n",
            "9:26: a credential has a name, and no path",
        ),
        (
            "    workloads: [select1]\n  - name: a\n    engine: sqlite\n    path: x\n    workloads: [select1]\n",
            "10:11: a second target is named `a`",
        ),
    ];
    for (rest, expected) in cases {
        let head = "# comment\ntargets:\n  - name: a\n    engine: postgres\n    address: 127.0.0.1:5432\n    \
                    database: d\n    user: u\n    # comment\n";
        assert_eq!(
            message(&format!("{head}{rest}")),
            format!("probe.yaml:{expected}")
        );
    }
}

/// The address is in every log line about that exporter.
#[test]
fn a_password_in_the_address_of_an_exporter_is_refused_without_repeating_it() {
    let refused = |url: &str| {
        message(&format!(
            "targets:\n  - name: a\n    engine: sqlite\n    path: p\n    workloads: [select1]\n    profile_from: {url}\n"
        ))
    };
    for url in [
        "http://u:canary@db1:9973",
        "http://db1:9973/?password=canary",
    ] {
        assert_eq!(
            refused(url),
            "probe.yaml:6:19: profile_from holds no user, no password and no query; write http://host:port"
        );
    }
    for url in [
        "db1:9973",
        "https://u:canary@db1",
        "http://",
        "http://u:can ary@db1",
        "'http://:9973'",
    ] {
        assert_eq!(
            refused(url),
            "probe.yaml:6:19: profile_from is the exporter's address, such as http://db1:9973",
            "{url}"
        );
    }
}

/// The last one was asked about the CPUs of both.
#[test]
fn two_exporters_for_one_node_are_refused() {
    let target = |name: &str, port: u16| {
        format!(
            "  - name: {name}\n    engine: sqlite\n    path: p\n    node: db1\n    workloads: [select1]\n    \
             profile_from: http://db1:{port}\n"
        )
    };
    let file = |second| format!("targets:\n{}{}", target("a", 9973), target("b", second));
    assert!(parse(Path::new("probe.yaml"), &file(9973)).is_ok());
    assert_eq!(
        message(&file(9974)),
        "probe.yaml:13:19: target `a` names another exporter for node `db1`; a node has one profile"
    );
}

#[test]
fn a_remote_server_without_a_word_on_its_node_is_refused() {
    assert_eq!(
        message(
            "targets:\n  - name: a\n    engine: postgres\n    address: db1:5432\n    user: u\n    workloads: [select1]\n    \
             tls: {mode: disable}\n"
        ),
        "probe.yaml:4:14: `node` is missing; name the host whose CPUs serve this database, as its exporter calls it"
    );
}

/// A workload's lines after its name.
#[test]
fn a_file_without_targets_is_refused() {
    assert_eq!(
        message("targets: []\n"),
        "probe.yaml:1:10: no targets; name at least one"
    );
    assert_eq!(
        message("workloads: []\n"),
        "probe.yaml:1:1: missing field `targets`"
    );
}

#[test]
fn sqlite_takes_no_server_keys() {
    assert_eq!(
        message(
            "targets:\n  - {name: f, engine: sqlite, path: p, user: u, workloads: [select1]}\n"
        ),
        "probe.yaml:2:46: `user` is for servers; sqlite takes only `path`"
    );
}

#[test]
fn the_embedded_default_asks_every_preset_of_a_file_of_its_own() {
    let config = embedded(Path::new("/var/lib/wakelag"));
    assert_eq!(config.targets[0].name, EMBEDDED);
    assert_eq!(
        config.targets[0].workloads.len(),
        crate::workloads::PRESETS.len()
    );
}

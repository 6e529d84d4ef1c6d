//! Lanes on a server that ends their sessions, stops and starts again.

use probe::config;
use probe::prober::Prober;
use tests::mariadb::Mariadb;

use super::over_unix;
use super::real::{counter, queries, wait_until};

#[test]
fn lanes_go_on_by_themselves_after_a_killed_session_and_a_restart() {
    let mut server = Mariadb::start(&[]);
    let mut config = over_unix(&server, "", "SELECT 1", "");
    config.targets[0].workloads.truncate(1);
    server.sql("CREATE USER probe@localhost");
    if let config::Access::Mysql(access) = &mut config.targets[0].access {
        access.user = "probe".to_owned();
    }
    let prober = Prober::start(config).unwrap();
    let reconnects = || counter(&prober, "wakelag_probe_reconnects_total", "workload", "w");
    let goes_on = |after: &str| {
        let so_far = queries(&prober, "ok");
        wait_until(after, || queries(&prober, "ok") > so_far + 3.0);
    };
    let ours = "information_schema.processlist WHERE user = 'probe'";
    goes_on("the start");
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {ours}")), "1");
    let id = server.sql(&format!("SELECT id FROM {ours}"));
    server.sql(&format!("KILL {id}"));
    wait_until("reconnect", || reconnects() == 1.0);
    goes_on("a killed session");
    assert_eq!(queries(&prober, "disconnected"), 1.0);

    server.stop();
    wait_until("refused", || queries(&prober, "refused") > 0.0);
    server.go();
    wait_until("reconnect", || reconnects() == 2.0);
    goes_on("a restart");
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {ours}")), "1");
    let info = "wakelag_probe_target_info";
    assert_eq!(counter(&prober, info, "engine", "mariadb"), 1.0);
    assert_eq!(counter(&prober, info, "transport", "unix"), 1.0);
    prober.stop();
    wait_until("good-bye", || {
        server.sql(&format!("SELECT count(*) FROM {ours}")) == "0"
    });
    assert_eq!(
        server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_clients'"),
        "Aborted_clients\t0"
    );
}

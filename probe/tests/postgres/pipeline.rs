//! Many statements in one write against a real server.

use probe::engine::Outcome;
use probe::prober::Prober;
use tests::postgres::Postgres;

use super::{connect, failure, over_unix, queries, wait_until};

const PIPELINE: &str =
    "    protocol: {pipeline: 7}\n    params: [{int: {uniform: [1, 1000000000]}}]\n";

#[test]
fn a_batch_is_one_query_and_one_transaction_of_as_many_statements() {
    let server = Postgres::start("");
    server.sql("CREATE TABLE asked (batch bigint, number bigint)");
    let insert = "INSERT INTO asked VALUES (txid_current(), 100 / $1::bigint)";
    let mut session = connect(&over_unix(&server, "", insert, PIPELINE), 0)
        .0
        .unwrap();
    session.execute(&[1, 2, 4, 5, 10, 20, 50]).unwrap();
    let seen =
        "SELECT count(DISTINCT batch), string_agg(number::text, ' ' ORDER BY number) FROM asked";
    assert_eq!(server.sql(seen), "1|2 5 10 20 25 50 100");
    // One that fails takes the others with it, and the session goes on.
    let refused = failure(session.execute(&[1, 1, 1, 0, 1, 1, 1]));
    assert_eq!(
        (refused.outcome, refused.usable),
        (Outcome::ServerError, true)
    );
    assert_eq!(server.sql("SELECT count(*) FROM asked"), "7");
    session.execute(&[1; 7]).unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM asked"), "14");
}

#[test]
fn a_lane_draws_for_each_statement_and_counts_the_batch_once() {
    let server = Postgres::start("");
    server.sql("CREATE TABLE asked (number bigint)");
    let mut config = over_unix(&server, "", "INSERT INTO asked VALUES ($1)", PIPELINE);
    config.targets[0].workloads.truncate(1);
    let prober = Prober::start(config).unwrap();
    wait_until("answers", || queries(&prober, "ok") >= 3.0);
    prober.stop();
    let ok = queries(&prober, "ok") as u64;
    let batches = ok + u64::from(probe::runner::WARM_UP);
    let late = queries(&prober, "client_late") as u64;
    let expected = (batches + late) * 7;
    assert_eq!(
        server.sql("SELECT count(*) FROM asked"),
        expected.to_string()
    );
    let distinct: u64 = server
        .sql("SELECT count(DISTINCT number) FROM asked")
        .parse()
        .unwrap();
    assert!(distinct + 3 > expected, "{distinct} of {expected}");
}

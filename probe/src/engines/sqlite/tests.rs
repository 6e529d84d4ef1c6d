use super::*;
use crate::workload::{Dialect, Param, Pattern, Statement};
use crate::workloads;

const TIMEOUT: Timeout = Timeout {
    connect: Duration::from_millis(200),
    query: Duration::from_millis(200),
};

fn workload(text: &str, protocol: Protocol) -> Workload {
    Workload {
        name: "test".to_owned(),
        statement: Statement {
            text: text.to_owned(),
            params: Vec::new(),
            protocol,
        },
        pattern: Pattern {
            every: Duration::ZERO,
            queries: 1,
        },
        lanes: 1,
        fixture: None,
    }
}

fn connect(path: &std::path::Path, workload: &Workload) -> Result<Box<dyn Session>, Failure> {
    let mut phases = Phases::default();
    let session = Sqlite::new(path.to_owned(), true, TIMEOUT).connect(workload, &mut phases);
    assert_eq!(phases.resolve, None);
    session
}

#[test]
fn a_point_select_finds_its_own_rows_in_a_new_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("probe.sqlite");
    let point = workloads::find("point-select", Dialect::Sqlite).unwrap();
    for _ in 0..2 {
        let mut session = connect(&path, &point).unwrap();
        assert_eq!(session.peer().transport, "file");
        for id in [1, 500, 1000] {
            let timings = session.execute(&[id]).unwrap();
            let first = timings.first_row.unwrap();
            assert!(timings.started <= first && first <= timings.done);
            assert_eq!(timings.last_row, Some(timings.done));
        }
        assert_eq!(session.execute(&[1001]).unwrap().first_row, None);
    }
    let rows: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM wakelag_point", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1000);
}

#[test]
fn a_text_is_parsed_each_time_under_the_simple_protocol() {
    let dir = tempfile::tempdir().unwrap();
    let mut simple = workload("SELECT ?", Protocol::Simple);
    simple.statement.params = vec![Param::uniform(1, 2)];
    let mut session = connect(&dir.path().join("a"), &simple).unwrap();
    assert!(session.execute(&[1]).unwrap().first_row.is_some());
}

#[test]
fn a_file_locked_by_another_is_busy_and_the_session_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let point = workloads::find("point-select", Dialect::Sqlite).unwrap();
    let mut session = connect(&path, &point).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let failure = session.execute(&[1]).unwrap_err();
    assert_eq!((failure.outcome, failure.usable), (Outcome::Busy, true));
    other.execute_batch("ROLLBACK").unwrap();
    session.execute(&[1]).unwrap();
}

#[test]
fn a_statement_without_end_is_ended_at_the_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let endless = workload(endless, Protocol::Prepared);
    let mut session = connect(&dir.path().join("a"), &endless).unwrap();
    let begun = Instant::now();
    let failure = session.execute(&[]).unwrap_err();
    assert_eq!((failure.outcome, failure.usable), (Outcome::Timeout, true));
    assert!(begun.elapsed() >= TIMEOUT.query);
    assert!(begun.elapsed() < TIMEOUT.query * 10);
}

#[test]
fn a_misspelt_path_is_refused_and_nothing_is_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("misspelt");
    let select = workload("SELECT 1", Protocol::Prepared);
    let mut engine = Sqlite::new(path.clone(), false, TIMEOUT);
    let failure = engine
        .connect(&select, &mut Phases::default())
        .err()
        .unwrap();
    assert_eq!(failure.outcome, Outcome::Refused);
    assert!(failure.message.contains("correct `path`"), "{failure}");
    assert!(!path.exists());
}

#[test]
fn what_is_not_a_database_or_not_sql_is_a_server_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text");
    std::fs::write(&path, "x".repeat(4096)).unwrap();
    let select = workload("SELECT 1", Protocol::Prepared);
    assert_eq!(
        connect(&path, &select).err().unwrap().outcome,
        Outcome::ServerError
    );
    let wrong = workload("SELEKT 1", Protocol::Prepared);
    let failure = connect(&dir.path().join("a"), &wrong).err().unwrap();
    assert_eq!(failure.outcome, Outcome::ServerError);
}

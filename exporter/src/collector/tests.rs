//! How a run is judged by what it returned and went on from.

use super::*;
use crate::parse::ParseError;

fn read(errno: Errno) -> Error {
    Error::Read {
        path: "/sys/x".into(),
        errno,
    }
}

#[test]
fn an_interface_that_is_not_there_is_absent_and_no_error() {
    let outcome = Outcome::judge(Err(read(Errno::ENOENT)), vec![]);
    assert_eq!(outcome.state, State::Absent);
    assert!(outcome.errors.is_empty());
}

#[test]
fn an_interface_that_went_away_while_it_was_read_is_absent_and_not_well() {
    let outcome = Outcome::judge(Err(read(Errno::ENOENT)), vec![read(Errno::ENODEV)]);
    assert_eq!(outcome.state, State::Absent);
    assert_eq!(outcome.errors, ["ENODEV"]);
    let unsure = Outcome::judge(Err(read(Errno::ENOENT)), vec![read(Errno::EACCES)]);
    assert_eq!(unsure.state, State::Denied);
}

#[test]
fn a_run_that_published_nothing_is_never_well() {
    for errno in [Errno::EBUSY, Errno::EIO, Errno::EISDIR] {
        let outcome = Outcome::judge(Err(read(errno)), vec![]);
        assert_eq!(outcome.state, State::Failed, "{errno}");
    }
}

#[test]
fn a_denied_file_makes_the_whole_denied_and_is_named() {
    let outcome = Outcome::judge(Ok(()), vec![read(Errno::EACCES), read(Errno::EACCES)]);
    assert_eq!(outcome.state, State::Denied);
    assert_eq!(outcome.reason, "/sys/x: Permission denied (and 1 more)");
    assert_eq!(outcome.errors, ["EACCES", "EACCES"]);
}

#[test]
fn a_file_that_went_with_its_cpu_is_counted_and_all_is_well() {
    let outcome = Outcome::judge(Ok(()), vec![read(Errno::EBUSY)]);
    assert_eq!(outcome.state, State::Ok);
    assert_eq!(outcome.errors, ["EBUSY"]);
}

#[test]
fn a_file_that_is_not_understood_is_a_failure() {
    let error = Error::Parse {
        path: "/sys/x".into(),
        source: ParseError::new(3, "bad"),
    };
    let outcome = Outcome::judge(Ok(()), vec![read(Errno::EACCES), error]);
    assert_eq!(outcome.state, State::Failed);
    assert_eq!(outcome.reason, "/sys/x:3: bad (and 1 more)");
}

#[test]
fn what_was_forgone_for_lack_of_rights_is_said_and_leaves_the_state() {
    let forgone = ["/sys/x: denied", "/sys/y: denied"].map(str::to_owned);
    let outcome = Outcome::judge(Ok(()), vec![]).without(&forgone);
    assert_eq!(outcome.state, State::Ok);
    assert_eq!(outcome.reason, "without /sys/x: denied (and 1 more)");
    assert!(outcome.errors.is_empty());
    let worse = Outcome::judge(Ok(()), vec![read(Errno::EIO)]);
    assert_eq!(worse.clone().without(&forgone), worse);
}

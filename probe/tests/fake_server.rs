//! The probe against servers that do what no real one does on demand.

// clippy.toml allows these in test functions; here the helpers beside them are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "fake_server/encryption.rs"]
mod encryption;
#[path = "harness/fake.rs"]
mod fake;
#[path = "harness/listener.rs"]
mod listener;
#[path = "fake_server/pipeline.rs"]
mod pipeline;
#[path = "fake_server/stall.rs"]
mod stall;

use std::io::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fake::{
    complete, connect, handshake, hold, message, query, read_startup, read_to_sync, ready, row,
    server, whole_answer,
};
use probe::engine::Outcome;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_server_that_says_nothing_times_out_in_auth_at_its_deadline() {
    let config = server(hold);
    let begun = Instant::now();
    let (session, phases) = connect(&config);
    let took = begun.elapsed();
    assert_eq!(session.err().unwrap().outcome, Outcome::Timeout);
    assert!(phases.connect.is_some() && phases.auth.is_none());
    assert!(took >= 290 * MS && took < 800 * MS, "{took:?}");
}

#[test]
fn a_server_that_hangs_up_is_a_disconnect() {
    let config = server(drop);
    let outcome = connect(&config).0.err().unwrap().outcome;
    assert_eq!(outcome, Outcome::Disconnected);
    // In the middle of a reply, after the rows even: only ReadyForQuery makes it one.
    for cut in [3, whole_answer().len() - ready().len()] {
        let config = server(move |mut stream| {
            handshake(&mut stream);
            read_to_sync(&mut stream);
            stream.write_all(&whole_answer()[..cut]).unwrap();
        });
        let failure = connect(&config).0.unwrap().execute(&[]).unwrap_err();
        assert_eq!(
            (failure.outcome, failure.usable),
            (Outcome::Disconnected, false)
        );
    }
}

#[test]
fn half_a_message_and_silence_is_a_timeout_at_the_deadline_of_the_query() {
    let begun = Instant::now();
    let failure = query(|stream| stream.write_all(&whole_answer()[..20]).unwrap()).unwrap_err();
    assert_eq!((failure.outcome, failure.usable), (Outcome::Timeout, false));
    assert!(begun.elapsed() >= 1490 * MS && begun.elapsed() < 3000 * MS);
}

#[test]
fn what_no_server_may_send_is_a_protocol_error() {
    let too_long = |length: u32| [b"D", &length.to_be_bytes()[..]].concat();
    for answer in [
        too_long(1 << 31),
        too_long(u32::MAX),
        too_long(65 << 20),
        too_long(3),
        message(b'?', b""),
        // Ready without an answer.
        ready(),
        // An authentication in the middle of a session.
        message(b'R', &[0; 4]),
        // The server wants data for a COPY.
        message(b'G', &[0, 0, 0]),
    ] {
        let sent = answer.clone();
        let begun = Instant::now();
        let failure = query(move |stream| stream.write_all(&sent).unwrap()).unwrap_err();
        let expected = (Outcome::Protocol, false);
        assert_eq!(
            (failure.outcome, failure.usable),
            expected,
            "{answer:?}: {failure}"
        );
        assert!(begun.elapsed() < 1000 * MS, "{answer:?}");
    }
    let config = server(|mut stream| {
        read_startup(&mut stream);
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        hold(stream);
    });
    assert_eq!(connect(&config).0.err().unwrap().outcome, Outcome::Protocol);
}

#[test]
fn an_error_of_megabytes_is_no_log_line_of_megabytes() {
    let error = [b"SERROR\0C42601\0M", &vec![b'x'; 2 << 20][..], b"\0\0"].concat();
    let answer = [message(b'E', &error), ready()].concat();
    let failure = query(move |stream| stream.write_all(&answer).unwrap()).unwrap_err();
    assert_eq!(
        (failure.outcome, failure.usable),
        (Outcome::ServerError, true)
    );
    assert!(failure.message.ends_with("x (42601)"));
    assert!(failure.message.len() < 2000, "{}", failure.message.len());
}

#[test]
fn a_reply_may_come_byte_by_byte_and_be_long() {
    query(|stream| {
        for byte in whole_answer() {
            stream.write_all(&[byte]).unwrap();
        }
    })
    .unwrap();
    let body = [&[0, 1, 0, 0x20, 0, 0][..], &vec![b'x'; 1 << 21]].concat();
    let answer = [
        message(b'2', b""),
        message(b'D', &body),
        complete(),
        ready(),
    ]
    .concat();
    query(move |stream| stream.write_all(&answer).unwrap()).unwrap();
}

#[test]
fn an_error_without_an_end_of_the_session_leaves_it_usable() {
    let answer = |severity: &str, code: &str| {
        let fields = format!("S{severity}\0V{severity}\0C{code}\0Mno\0\0");
        [message(b'E', fields.as_bytes()), ready()].concat()
    };
    for (severity, code, outcome, usable) in [
        ("ERROR", "55P03", Outcome::LockTimeout, true),
        ("ERROR", "57014", Outcome::Timeout, true),
        ("ERROR", "XX000", Outcome::ServerError, true),
        ("FATAL", "57P01", Outcome::Disconnected, false),
        ("FATAL", "XX000", Outcome::ServerError, false),
    ] {
        let sent = answer(severity, code);
        let failure = query(move |stream| stream.write_all(&sent).unwrap()).unwrap_err();
        assert_eq!(
            (failure.outcome, failure.usable),
            (outcome, usable),
            "{severity} {code}"
        );
    }
}

#[test]
fn a_reply_too_many_was_taken_for_the_answer_to_the_next_query() {
    let asked_twice = |extra: Vec<u8>| {
        let config = server(move |mut stream| {
            handshake(&mut stream);
            while read_to_sync(&mut stream) {
                let answer = [whole_answer(), extra.clone()].concat();
                stream.write_all(&answer).unwrap();
            }
        });
        let mut session = connect(&config).0.unwrap();
        session.execute(&[]).unwrap();
        session.execute(&[])
    };
    let failure = asked_twice(whole_answer()).unwrap_err();
    assert_eq!(
        (failure.outcome, failure.usable),
        (Outcome::Protocol, false)
    );
    // What a server may say at any time is no answer.
    let timings = asked_twice(message(b'S', b"TimeZone\0UTC\0")).unwrap();
    assert!(timings.started < timings.done);
}

#[test]
fn first_row_last_row_and_end_have_times_of_their_own() {
    let timings = query(|stream| {
        for (pause, bytes) in [
            (20, row()),
            (40, row()),
            (40, [complete(), ready()].concat()),
        ] {
            sleep(pause * MS);
            stream.write_all(&bytes).unwrap();
        }
    })
    .unwrap();
    let since = |at: Instant| at - timings.started;
    let first = since(timings.first_row.unwrap());
    let last = since(timings.last_row.unwrap());
    assert!(
        first >= 20 * MS && last >= first + 30 * MS,
        "{first:?} {last:?}"
    );
    assert!(since(timings.done) >= last + 30 * MS, "{timings:?}");
}

//! The probe against servers of MySQL's protocol that do what no real one here does, or none should.

// clippy.toml allows these in test functions; here the helpers beside them are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "fake_mysql/authentication.rs"]
mod authentication;
#[path = "harness/fake_mysql.rs"]
mod fake;
#[path = "harness/listener.rs"]
mod listener;

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fake::{
    connect, definition, end, error, greeting, handshake, hold, packet, query, read, row, server,
    whole_answer,
};
use probe::engine::Outcome;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_server_that_greets_as_none_may_is_an_error_of_its_own() {
    let greet = |bytes: Vec<u8>| {
        let config = server("", move |mut stream: TcpStream| {
            stream.write_all(&bytes).unwrap();
            hold(stream);
        });
        connect(&config).0.err().unwrap()
    };
    for (bytes, outcome) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            Outcome::Protocol,
        ),
        (packet(0, b"\x09old\0"), Outcome::Protocol),
        (packet(0, b""), Outcome::Protocol),
        (packet(0, &greeting("x")[4..40]), Outcome::Protocol),
        (
            packet(0, b"\xff\x10\x04Too many connections"),
            Outcome::TooManyConnections,
        ),
        (packet(0, b"\xff\x6a\x04Host is not allowed"), Outcome::Auth),
        (Vec::new(), Outcome::Timeout),
    ] {
        let failure = greet(bytes.clone());
        assert_eq!(failure.outcome, outcome, "{bytes:?}: {failure}");
    }
    let asked = server("    tls: {mode: require}\n", |mut stream| {
        stream
            .write_all(&greeting("mysql_native_password"))
            .unwrap();
        assert_eq!(read(&mut stream), None);
    });
    let (session, phases) = connect(&asked);
    assert_eq!(session.err().unwrap().outcome, Outcome::Tls);
    assert!(phases.tls.is_none() && phases.auth.is_none());
}

#[test]
fn what_no_server_may_send_is_a_protocol_error() {
    let columns = |count: &[u8]| packet(1, count);
    for answer in [
        packet(1, b""),
        packet(2, b"\0\0\0\x02\0\0\0"),
        packet(1, b"\0\0"),
        // A local file is wanted.
        packet(1, b"\xfb/etc/passwd"),
        columns(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
        columns(b"\xfc\xff\xff"),
        columns(b"\x01\x01"),
        [columns(&[1]), packet(2, b"\x02xy")].concat(),
        [columns(&[1]), definition(2), packet(3, b"")].concat(),
        [columns(&[1]), definition(2), packet(3, b"\x07row")].concat(),
        [columns(&[1]), definition(2), packet(3, b"\xfe")].concat(),
        [columns(&[1]), definition(2), row(4)].concat(),
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
        assert!(begun.elapsed() < 1400 * MS, "{answer:?}");
    }
    // More than 64 MiB in one payload.
    let part = vec![b'x'; 0xff_ffff];
    let failure = query(move |stream| {
        for sequence in 1..8 {
            if stream.write_all(&packet(sequence, &part)).is_err() {
                return;
            }
        }
    })
    .unwrap_err();
    assert!(!failure.usable, "{failure}");
}

#[test]
fn several_results_are_one_reply_and_an_error_leaves_the_session() {
    let two = [
        packet(1, &[1]),
        definition(2),
        row(3),
        end(4, 8),
        packet(5, b"\0\0\0\x02\0\0\0"),
    ];
    let timings = query(move |stream| stream.write_all(&two.concat()).unwrap()).unwrap();
    assert!(timings.first_row.is_some());
    for (code, outcome, usable) in [
        (1205, Outcome::LockTimeout, true),
        (1243, Outcome::PreparedMissing, true),
        (3024, Outcome::Timeout, true),
        (1213, Outcome::ServerError, true),
        (4031, Outcome::Disconnected, false),
    ] {
        // At once, in the middle of rows, and unasked with a number of its own.
        for answer in [
            error(1, code, "no"),
            error(0, code, "no"),
            [packet(1, &[1]), definition(2), row(3), error(4, code, "no")].concat(),
        ] {
            let failure = query(move |stream| stream.write_all(&answer).unwrap()).unwrap_err();
            assert_eq!(
                (failure.outcome, failure.usable),
                (outcome, usable),
                "{code}"
            );
        }
    }
}

#[test]
fn a_server_that_stalls_times_out_and_one_that_hangs_up_is_a_disconnect() {
    let config = server("", hold);
    let begun = Instant::now();
    let (session, phases) = connect(&config);
    assert_eq!(session.err().unwrap().outcome, Outcome::Timeout);
    assert!(phases.connect.is_some() && phases.auth.is_none());
    assert!(begun.elapsed() >= 990 * MS);
    assert_eq!(
        connect(&server("", drop)).0.err().unwrap().outcome,
        Outcome::Disconnected
    );
    for cut in [1, 7, whole_answer().len() - 1] {
        let failure =
            query(move |stream| stream.write_all(&whole_answer()[..cut]).unwrap()).unwrap_err();
        assert_eq!((failure.outcome, failure.usable), (Outcome::Timeout, false));
        let config = server("", move |mut stream| {
            handshake(&mut stream);
            read(&mut stream);
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
fn a_reply_may_come_byte_by_byte_and_each_part_has_its_time() {
    query(|stream| {
        for byte in whole_answer() {
            stream.write_all(&[byte]).unwrap();
        }
    })
    .unwrap();
    let timings = query(|stream| {
        let head = [packet(1, &[1]), definition(2), row(3)].concat();
        for (pause, bytes) in [(20, head), (40, row(4)), (40, end(5, 2))] {
            sleep(pause * MS);
            stream.write_all(&bytes).unwrap();
        }
    })
    .unwrap();
    let first = timings.first_row.unwrap() - timings.started;
    let last = timings.last_row.unwrap() - timings.started;
    assert!(first >= 20 * MS && last >= first + 30 * MS, "{timings:?}");
    assert!(
        timings.done - timings.started >= last + 30 * MS,
        "{timings:?}"
    );
}

#[test]
fn what_belongs_to_the_other_server_is_refused_in_the_file() {
    for (engine, line, message) in [
        (
            "postgres",
            "get_server_public_key: true",
            "9:28: `get_server_public_key` is for mysql",
        ),
        (
            "mysql",
            "channel_binding: prefer",
            "9:22: `channel_binding` is for postgres",
        ),
    ] {
        let text = format!(
            "targets:\n  - name: t\n    engine: {engine}\n    address: 127.0.0.1:3306\n    user: u\n    node: n\n    \
             # so that the line is the ninth\n    workloads: [select1]\n    {line}\n"
        );
        let refused = probe::config::parse(Path::new("probe.yaml"), &text).unwrap_err();
        assert_eq!(refused.to_string(), format!("probe.yaml:{message}"));
    }
}

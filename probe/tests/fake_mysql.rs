//! The probe against servers of MySQL's protocol that do what no real one here does, or none should.

// clippy.toml allows these in test functions; here the helpers beside them are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "harness/fake_mysql.rs"]
mod fake;

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fake::{
    CHALLENGE, connect, definition, end, error, greeting, handshake, hold, ok, packet, prepare,
    query, read, row, server, whole_answer,
};
use probe::engine::Outcome;

const MS: Duration = Duration::from_millis(1);

/// What "secret" is with the challenge of every greeting: SHA-256 and SHA-1 reckoned by another program.
const SHA256: &str = "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809";
const SHA1: &str = "8817c50fa779daef010ee7577825b0847df9842e";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A target's line with the password "secret", in a directory that has to stay.
fn secret() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("secret");
    std::fs::write(&file, "secret\n").unwrap();
    let line = format!("    password_file: {}\n", file.display());
    (dir, line)
}

/// Whether the answer to a greeting introduces user `u` with `response` for `plugin`.
fn introduces(answer: &[u8], response: &str, plugin: &str) -> bool {
    let response: Vec<u8> = (0..response.len() / 2)
        .map(|at| u8::from_str_radix(&response[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let expected = [
        b"u\0",
        &[response.len() as u8][..],
        &response,
        plugin.as_bytes(),
        b"\0",
    ]
    .concat();
    answer[32..].starts_with(&expected)
}

#[test]
fn a_password_the_server_remembers_is_not_sent() {
    let (_dir, password) = secret();
    let config = server(&password, |mut stream| {
        stream
            .write_all(&greeting("caching_sha2_password"))
            .unwrap();
        let answer = read(&mut stream).unwrap();
        assert!(
            introduces(&answer, SHA256, "caching_sha2_password"),
            "{answer:?}"
        );
        assert!(answer.ends_with(b"\x0cprogram_name\x0dwakelag-probe"));
        // The answer and what the server says to it.
        stream
            .write_all(&[packet(2, &[1, 3]), ok(3)].concat())
            .unwrap();
        prepare(&mut stream);
        read(&mut stream);
        stream.write_all(&whole_answer()).unwrap();
        hold(stream);
    });
    let (session, phases) = connect(&config);
    let mut session = session.unwrap();
    assert_eq!(
        (session.peer().engine, &session.peer().version[..]),
        ("mysql", "8.4.3")
    );
    assert!(phases.connect.is_some() && phases.tls.is_none() && phases.auth.is_some());
    session.execute(&[]).unwrap();
}

fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need Debian's package openssl");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

#[test]
fn a_password_the_server_has_to_see_is_encrypted_with_its_key() {
    let (dir, password) = secret();
    let key = dir.path().join("key");
    let private = openssl(&["genrsa", "2048"], b"");
    std::fs::write(&key, &private).unwrap();
    let public = openssl(&["rsa", "-pubout"], &private);
    let key = key.display().to_string();
    let (tell, told) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let config = server(&password, move |mut stream| {
        stream
            .write_all(&greeting("caching_sha2_password"))
            .unwrap();
        read(&mut stream).unwrap();
        stream.write_all(&packet(2, &[1, 4])).unwrap();
        assert_eq!(read(&mut stream).unwrap(), [2]);
        stream
            .write_all(&packet(4, &[&[1], &public[..]].concat()))
            .unwrap();
        let hidden = read(&mut stream).unwrap();
        assert_eq!(hidden.len(), 256);
        let way = [
            "pkeyutl",
            "-decrypt",
            "-inkey",
            &key,
            "-pkeyopt",
            "rsa_padding_mode:oaep",
        ];
        let mixed = openssl(&way, &hidden);
        let plain: Vec<u8> = mixed.iter().zip(CHALLENGE).map(|(a, b)| a ^ b).collect();
        tell.lock().unwrap().send(plain).unwrap();
        stream.write_all(&ok(6)).unwrap();
        prepare(&mut stream);
        hold(stream);
    });
    connect(&config).0.unwrap();
    assert_eq!(told.recv().unwrap(), b"secret\0");
}

#[test]
fn a_key_that_is_none_is_a_protocol_error() {
    let (_dir, password) = secret();
    let tiny = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQ==";
    for key in [
        "",
        "no key",
        &format!("-----BEGIN PUBLIC KEY-----\n{tiny}\n-----END PUBLIC KEY-----"),
    ] {
        let key = [&[1], key.as_bytes()].concat();
        let config = server(&password, move |mut stream| {
            stream
                .write_all(&greeting("caching_sha2_password"))
                .unwrap();
            read(&mut stream).unwrap();
            stream.write_all(&packet(2, &[1, 4])).unwrap();
            read(&mut stream).unwrap();
            stream.write_all(&packet(4, &key)).unwrap();
            hold(stream);
        });
        let failure = connect(&config).0.err().unwrap();
        assert_eq!(failure.outcome, Outcome::Protocol, "{failure}");
    }
}

/// How a connect ends whose introduction is answered with `answer`, and the client's next payload.
fn introduced(answer: Vec<u8>) -> (Outcome, String, Option<Vec<u8>>) {
    let (_dir, password) = secret();
    let (tell, told) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let config = server(&password, move |mut stream| {
        stream
            .write_all(&greeting("mysql_native_password"))
            .unwrap();
        let first = read(&mut stream).unwrap();
        assert!(
            introduces(&first, SHA1, "mysql_native_password"),
            "{first:?}"
        );
        stream.write_all(&answer).unwrap();
        let next = read(&mut stream);
        // The test may have seen enough.
        let _ = tell.lock().unwrap().send(next);
    });
    let failure = connect(&config).0.err().unwrap();
    (failure.outcome, failure.message, told.recv().unwrap())
}

#[test]
fn a_switch_of_the_way_is_followed_or_refused() {
    let switch = |plugin: &str| {
        packet(
            2,
            &[b"\xfe", plugin.as_bytes(), b"\0", CHALLENGE, b"\0"].concat(),
        )
    };
    for (plugin, expected) in [
        ("caching_sha2_password", SHA256),
        ("mysql_native_password", SHA1),
    ] {
        let (outcome, message, next) = introduced(switch(plugin));
        assert_eq!(outcome, Outcome::Disconnected, "{message}");
        assert_eq!(hex(&next.unwrap()), expected, "{plugin}");
    }
    // No way that would show the password to whoever asks.
    for plugin in [
        "mysql_clear_password",
        "dialog",
        "mysql_old_password",
        "sha256_password",
    ] {
        let (outcome, message, next) = introduced(switch(plugin));
        assert_eq!((outcome, next), (Outcome::Auth, None), "{message}");
        assert!(message.contains(plugin), "{message}");
    }
    for (answer, expected) in [
        (packet(2, b"\xfe"), Outcome::Auth),
        (packet(2, b"\xfeno end"), Outcome::Protocol),
        (
            packet(2, b"\xfeclient_ed25519\0too short"),
            Outcome::Protocol,
        ),
        (packet(2, b"\x01\x04"), Outcome::Protocol),
        (packet(2, b""), Outcome::Protocol),
        (error(2, 1045, "no"), Outcome::Auth),
        (error(2, 1044, "no"), Outcome::Auth),
    ] {
        let (outcome, message, next) = introduced(answer.clone());
        assert_eq!((outcome, next), (expected, None), "{answer:?} {message}");
    }
}

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

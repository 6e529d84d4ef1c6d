//! Ways to authenticate, and what a server may ask of them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::fake::{
    CHALLENGE, connect, error, greeting, hold, ok, packet, prepare, read, server, whole_answer,
};
use probe::engine::Outcome;

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

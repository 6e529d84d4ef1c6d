//! Servers that answer a request for TLS as none should, and encrypted ones that take their time.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::sleep;

use probe::config::Config;
use probe::engine::{Failure, Outcome, Phases};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tests::certificates::{named, self_signed};

use super::MS;
use super::fake::{
    complete, connect, handshake, hold, message, read_startup, read_to_sync, ready, row,
    server_with, whole_answer,
};

const REQUIRE: &str = "    tls: {mode: require}\n";

/// SSLRequest: a version that no protocol has.
const SSL_REQUEST: [u8; 4] = 80_877_103u32.to_be_bytes();

/// How a connect ends whose request for TLS is answered with `answer`, and what the server was sent after that.
fn asked(answer: &'static [u8]) -> (Failure, Phases, Vec<u8>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let config = server_with(REQUIRE, move |mut stream| {
        assert_eq!(read_startup(&mut stream), SSL_REQUEST);
        stream.write_all(answer).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        tell.lock().unwrap().send(rest).unwrap();
    });
    let (session, phases) = connect(&config);
    (session.err().unwrap(), phases, told.recv().unwrap())
}

/// Neither the user's name nor anything else goes out in plaintext when the server does not encrypt.
#[test]
fn a_server_without_tls_is_not_asked_in_plaintext_instead() {
    for (answer, outcome, part) in [
        (&b"N"[..], Outcome::Tls, "ssl = on"),
        // What an attacker in between would put in front of the server's first words.
        (b"SZ\0\0\0\x05I", Outcome::Tls, "before the handshake"),
        (b"E\0\0\0\x0aSFATAL\0\0", Outcome::Tls, "with an error"),
        (b"HTTP/1.1 400", Outcome::Protocol, "neither yes nor no"),
    ] {
        let (failure, phases, sent) = asked(answer);
        assert_eq!(failure.outcome, outcome, "{failure}");
        assert!(failure.message.contains(part), "{failure}");
        assert!(!failure.message.contains("FATAL"), "{failure}");
        assert!(phases.connect.is_some() && phases.tls.is_none() && phases.auth.is_none());
        assert_eq!(sent, b"", "{failure}");
    }
}

#[test]
fn a_handshake_that_goes_wrong_is_a_failure_of_tls_and_one_that_ends_or_hangs_is_not() {
    // An alert: handshake_failure.
    for (answer, outcome) in [
        (&b"\x15\x03\x03\0\x02\x02\x28"[..], Outcome::Tls),
        (b"Z\0\0\0\x05I", Outcome::Tls),
        (b"", Outcome::Disconnected),
    ] {
        let config = server_with(REQUIRE, move |mut stream| {
            read_startup(&mut stream);
            stream.write_all(b"S").unwrap();
            // The first bytes of the client's part show that it has begun.
            stream.read_exact(&mut [0; 100]).unwrap();
            stream.write_all(answer).unwrap();
            let _ = stream.shutdown(std::net::Shutdown::Write);
            hold(stream);
        });
        let (session, phases) = connect(&config);
        let failure = session.err().unwrap();
        assert_eq!(failure.outcome, outcome, "{failure}");
        assert!(phases.connect.is_some() && phases.tls.is_none());
    }
    for answer in ["", "S"] {
        let config = server_with(REQUIRE, move |mut stream| {
            stream.write_all(answer.as_bytes()).unwrap();
            hold(stream);
        });
        let (session, phases) = connect(&config);
        assert_eq!(session.err().unwrap().outcome, Outcome::Timeout);
        assert!(phases.connect.is_some() && phases.tls.is_none());
    }
}

type Encrypted = StreamOwned<ServerConnection, TcpStream>;

/// A server that encrypts, and then treats each connection as `behave` says.
fn encrypted(behave: impl Fn(Encrypted) + Send + Sync + 'static) -> Config {
    let pair = self_signed(&named(&["localhost"]));
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let tls = Arc::new(tls);
    server_with(REQUIRE, move |mut stream| {
        stream.set_nodelay(true).unwrap();
        read_startup(&mut stream);
        stream.write_all(b"S").unwrap();
        let connection = ServerConnection::new(Arc::clone(&tls)).unwrap();
        behave(StreamOwned::new(connection, stream));
    })
}

/// Sends the records of `plain` in two parts, the second of which is the last `held` bytes after a while.
fn send_with_a_pause(stream: &mut Encrypted, plain: &[u8], held: usize) {
    stream.conn.writer().write_all(plain).unwrap();
    let mut sealed = Vec::new();
    while stream.conn.wants_write() {
        stream.conn.write_tls(&mut sealed).unwrap();
    }
    let (first, second) = sealed.split_at(sealed.len() - held);
    stream.sock.write_all(first).unwrap();
    sleep(40 * MS);
    stream.sock.write_all(second).unwrap();
}

/// A row is there when its record can be read, and a record only when its last byte is here.
#[test]
fn a_reply_over_many_records_has_the_times_of_their_last_bytes() {
    let config = encrypted(|mut stream| {
        let notice = message(b'N', b"SNOTICE\0C00000\0Mhello\0\0");
        let status = message(b'S', b"TimeZone\0UTC\0");
        handshake(&mut stream);
        while read_to_sync(&mut stream) {
            let begin = [message(b'2', b""), notice.clone()].concat();
            send_with_a_pause(&mut stream, &begin, 1);
            send_with_a_pause(&mut stream, &row(), 1);
            stream.write_all(&status).unwrap();
            stream.write_all(&row()[..6]).unwrap();
            sleep(40 * MS);
            stream.write_all(&row()[6..]).unwrap();
            let end = [complete(), notice.clone(), ready()].concat();
            for byte in &end[..end.len() - 1] {
                stream.write_all(&[*byte]).unwrap();
            }
            sleep(40 * MS);
            stream.write_all(&end[end.len() - 1..]).unwrap();
        }
    });
    let (session, phases) = connect(&config);
    let mut session = session.unwrap();
    assert!(phases.tls.is_some() && phases.auth.is_some());
    assert_eq!(session.peer().tls, "TLSv1.3");
    for _ in 0..2 {
        let timings = session.execute(&[]).unwrap();
        let since = |at: std::time::Instant| at - timings.started;
        let first = since(timings.first_row.unwrap());
        let last = since(timings.last_row.unwrap());
        assert!(first >= 80 * MS, "{first:?}");
        assert!(last >= first + 40 * MS, "{first:?} {last:?}");
        assert!(since(timings.done) >= last + 40 * MS, "{timings:?}");
    }
}

#[test]
fn a_long_reply_and_an_end_in_the_middle_of_a_record_are_what_they_are_without_tls() {
    let body = [&[0, 1, 0, 0x20, 0, 0][..], &vec![b'x'; 1 << 21]].concat();
    let parts = [
        message(b'2', b""),
        message(b'D', &body),
        complete(),
        ready(),
    ];
    let long = parts.concat();
    let config = encrypted(move |mut stream| {
        handshake(&mut stream);
        read_to_sync(&mut stream);
        stream.write_all(&long).unwrap();
        read_to_sync(&mut stream);
        let mut sealed = Vec::new();
        stream.conn.writer().write_all(&whole_answer()).unwrap();
        stream.conn.write_tls(&mut sealed).unwrap();
        stream.sock.write_all(&sealed[..sealed.len() - 1]).unwrap();
    });
    let mut session = connect(&config).0.unwrap();
    session.execute(&[]).unwrap();
    let failure = session.execute(&[]).unwrap_err();
    assert_eq!(
        (failure.outcome, failure.usable),
        (Outcome::Disconnected, false)
    );
}

/// Somebody between who changes a byte.
#[test]
fn a_record_that_was_changed_on_the_way_is_a_failure_of_tls() {
    let config = encrypted(|mut stream| {
        handshake(&mut stream);
        read_to_sync(&mut stream);
        let mut sealed = Vec::new();
        stream.conn.writer().write_all(&whole_answer()).unwrap();
        stream.conn.write_tls(&mut sealed).unwrap();
        sealed[20] ^= 1;
        stream.sock.write_all(&sealed).unwrap();
        hold(stream.sock);
    });
    let failure = connect(&config).0.unwrap().execute(&[]).unwrap_err();
    assert_eq!((failure.outcome, failure.usable), (Outcome::Tls, false));
}

/// The server asks for a password, and there is nobody who could be told it: what it offers to bind was taken away.
#[test]
fn an_offer_to_bind_tls_where_there_is_none_ends_the_authentication() {
    let dir = tempfile::tempdir().unwrap();
    let password = dir.path().join("password");
    std::fs::write(&password, "canary").unwrap();
    let target = format!("    password_file: {}\n", password.display());
    let config = server_with(&target, |mut stream| {
        read_startup(&mut stream);
        let offer = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
        stream.write_all(&message(b'R', offer)).unwrap();
        hold(stream);
    });
    let failure = connect(&config).0.err().unwrap();
    assert_eq!(failure.outcome, Outcome::Auth);
    assert!(
        failure.message.contains("TLS that there is not"),
        "{failure}"
    );
}

use super::*;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

#[test]
fn transport_is_what_the_socket_says() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let wire = Wire::tcp(&[listener.local_addr().unwrap()], soon()).unwrap();
    assert_eq!(wire.transport(), "tcp");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    assert_eq!(Wire::unix(&path, soon()).unwrap().transport(), "unix");
}

#[test]
fn a_port_or_path_nobody_listens_on_is_refused() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    assert_eq!(
        Wire::tcp(&[port], soon()).unwrap_err().outcome,
        Outcome::Refused
    );
    let failure = Wire::unix(Path::new("/nonexistent/s"), soon()).unwrap_err();
    assert_eq!(failure.outcome, Outcome::Refused);
}

#[test]
fn a_silent_peer_times_out_at_the_deadline_and_not_before() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wire = Wire::tcp(&[listener.local_addr().unwrap()], soon()).unwrap();
    let begun = Instant::now();
    wire.begin(Duration::from_millis(200)).unwrap();
    let failure = wire.receive(&mut BytesMut::new()).unwrap_err();
    assert_eq!(failure.outcome, Outcome::Timeout);
    assert!(
        begun.elapsed() >= Duration::from_millis(195),
        "{:?}",
        begun.elapsed()
    );
}

/// A peer that sends a byte now and then must not keep a lane for ever.
#[test]
fn a_dripping_peer_times_out_at_the_deadline_of_the_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let drip = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap().0;
        while peer.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut wire = Wire::tcp(&[address], soon()).unwrap();
    wire.begin(Duration::from_millis(200)).unwrap();
    let mut incoming = BytesMut::new();
    let failure = loop {
        if let Err(failure) = wire.receive(&mut incoming) {
            break failure;
        }
        assert!(incoming.len() < 1000);
    };
    assert_eq!(failure.outcome, Outcome::Timeout);
    drop(wire);
    drip.join().unwrap();
}

#[test]
fn a_full_backlog_of_a_unix_socket_times_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    let mut taken = Vec::new();
    let deadline = || Instant::now() + Duration::from_millis(50);
    let failure = loop {
        match Wire::unix(&path, deadline()) {
            Ok(wire) => taken.push(wire),
            Err(failure) => break failure,
        }
        assert!(taken.len() < 10_000);
    };
    assert_eq!(failure.outcome, Outcome::Timeout);
}

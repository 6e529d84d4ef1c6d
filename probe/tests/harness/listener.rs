//! What the servers that do what a test says have in common.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use probe::config::Config;
use probe::engine::{self, Failure, Phases, Session};

/// A server that treats each connection as `behave` says; where it listens.
pub(crate) fn listen(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let behave = Arc::new(behave);
    // Ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let behave = Arc::clone(&behave);
            std::thread::spawn(move || behave(stream.unwrap()));
        }
    });
    address
}

/// Connects for the first workload.
pub(crate) fn connect(config: &Config) -> (Result<Box<dyn Session>, Failure>, Phases) {
    let target = &config.targets[0];
    let mut phases = Phases::default();
    let session = engine::of(target).connect(&target.workloads[0], &mut phases);
    (session, phases)
}

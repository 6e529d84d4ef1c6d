//! The web configuration file, and the choice of a format by `Accept`.

use std::net::SocketAddr;
use std::path::PathBuf;

use tempfile::TempDir;
use tokio::runtime::{self, Runtime};
use toolkit::exposition::Format;
use toolkit::flags;
use toolkit::web::{Server, StartError};

use super::machine::scratch;

thread_local! {
    static DOOR: Door = Door::new();
}

/// A server that gets as far as its configuration: there is no socket it could be handed.
struct Door {
    runtime: Runtime,
    file: PathBuf,
    _dir: TempDir,
}

impl Door {
    fn new() -> Self {
        let dir = scratch();
        Door {
            runtime: runtime::Builder::new_current_thread().build().unwrap(),
            file: dir.path().join("web.yaml"),
            _dir: dir,
        }
    }

    fn open(&self, text: &str) -> StartError {
        std::fs::write(&self.file, text).unwrap();
        let flags = flags::Web {
            listen_addresses: Vec::new(),
            systemd_socket: true,
            config_file: Some(self.file.clone()),
            max_requests: 1,
        };
        let server = Server::open(&flags, SocketAddr::from(([127, 0, 0, 1], 0)));
        self.runtime.block_on(server).unwrap_err()
    }
}

/// The first line is the header, all else the file.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (accept, file) = text.split_once('\n').unwrap_or((text, ""));
    negotiate(accept);
    // Certificates and keys are read, and this host's files are none of the input's.
    if file.contains("_file") && file.contains('/') {
        return;
    }
    DOOR.with(|door| match door.open(file) {
        StartError::Config(error) => {
            in_text(&error.to_string(), &door.file.display().to_string(), file);
        }
        StartError::Listen(_) => {}
        StartError::Signal(error) => panic!("{error}"),
    });
}

/// What a client refuses it does not get, and saying a thing twice changes nothing.
fn negotiate(accept: &str) {
    let chosen = Format::negotiate(Some(accept));
    assert_eq!(
        Format::negotiate(Some(&format!("{accept},{accept}"))),
        chosen
    );
    if chosen == Some(Format::Protobuf) {
        let names = accept.to_ascii_lowercase();
        assert!(
            names.contains("application/vnd.google.protobuf"),
            "{accept}"
        );
    }
    let refusing = format!("text/plain;q=0,application/vnd.google.protobuf;q=0,{accept}");
    if !accept.to_ascii_lowercase().contains("text/plain") {
        assert_ne!(Format::negotiate(Some(&refusing)), Some(Format::Text));
    }
}

/// `message` begins with `path:line:column: `, a place in `text` or right behind it.
pub(crate) fn in_text(message: &str, path: &str, text: &str) {
    let place = message.strip_prefix(path).and_then(|m| m.strip_prefix(':'));
    let place = place.unwrap_or_else(|| panic!("{message}"));
    let mut parts = place.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<usize>().ok());
    let (Some(line), Some(column)) = (number(), number()) else {
        panic!("{message}");
    };
    let said = parts.next().unwrap_or_default();
    assert!(!said.trim().is_empty(), "{message}");
    assert!(line >= 1 && column >= 1, "{message}");
    // YAML has more line ends than Rust's `lines`.
    let lines = text
        .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
        .count();
    assert!(line <= lines + 1, "{message}: of {lines} lines");
    assert!(column <= text.chars().count() + 2, "{message}");
}

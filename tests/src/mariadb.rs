//! A private MariaDB server: its own data directory, a free port, gone with the value.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SERVER: &str = "/usr/sbin/mariadbd";

/// A running server. The user of the tests' own connections to it is its superuser, `root`, without a password.
pub struct Mariadb {
    dir: tempfile::TempDir,
    /// Its TCP port on loopback.
    pub port: u16,
    options: Vec<String>,
    child: Option<Child>,
}

impl Mariadb {
    /// Makes and starts a server with further `options` of its command line.
    pub fn start(options: &[&str]) -> Self {
        assert!(
            Path::new(SERVER).exists(),
            "{SERVER} is missing: these tests need Debian's package mariadb-server"
        );
        let dir = tempfile::Builder::new()
            .prefix("wakelag-maria-")
            .tempdir_in("/tmp")
            .unwrap();
        // The server runs as another user, who has to get in.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        // Free a moment ago; nobody else asks for it within the second.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut server = Mariadb {
            dir,
            port,
            options: options.iter().map(|option| option.to_string()).collect(),
            child: None,
        };
        must(
            Command::new("mariadb-install-db")
                .args(["--no-defaults", "--auth-root-authentication-method=normal"])
                .args(["--skip-test-db", "--skip-name-resolve"])
                .args(as_mysql())
                .arg(server.data())
                .env("TMPDIR", server.dir.path()),
        );
        server.go();
        server
    }

    /// Starts a server that was stopped.
    pub fn go(&mut self) {
        let log = std::fs::File::create(self.dir.path().join("log")).unwrap();
        let child = Command::new(SERVER)
            .arg("--no-defaults")
            .args(as_mysql())
            .arg(self.data())
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--port={}", self.port))
            .arg(format!(
                "--pid-file={}",
                self.dir.path().join("pid").display()
            ))
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args([
                "--innodb-buffer-pool-size=16M",
                "--innodb-flush-log-at-trx-commit=0",
            ])
            .args(["--performance-schema=OFF", "--max-connections=30"])
            .args(&self.options)
            // At its start a server removes what looks like its own in there, another one's too.
            .env("TMPDIR", self.dir.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self
            .client()
            .args(["-e", "SELECT 1"])
            .output()
            .unwrap()
            .status
            .success()
        {
            let log = || std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Stops the server, ending every session.
    pub fn stop(&mut self) {
        self.end(Signal::SIGTERM);
    }

    fn end(&mut self, signal: Signal) {
        if let Some(mut child) = self.child.take() {
            kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
            child.wait().unwrap();
        }
    }

    /// Runs statements as superuser and returns their rows, a column a tab.
    pub fn sql(&self, text: &str) -> String {
        let output = must(self.client().args(["-e", text]));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A session that has run `text` and stays open.
    pub fn session(&self, text: &str) -> Session {
        let mut child = self
            .client()
            .arg("--unbuffered")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{text}\nSELECT 'done';").unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "done"));
        Session {
            child,
            input: Some(input),
        }
    }

    /// The UNIX socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn data(&self) -> String {
        format!("--datadir={}", self.dir.path().join("data").display())
    }

    fn client(&self) -> Command {
        let mut client = Command::new("mariadb");
        client
            .args([
                "--no-defaults",
                "--batch",
                "--skip-column-names",
                "--user=root",
            ])
            .arg(format!("--socket={}", self.socket().display()));
        client
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        self.end(Signal::SIGKILL);
    }
}

/// An open session; it ends with the value.
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The server refuses to run as root, and changes to its own user.
fn as_mysql() -> Option<&'static str> {
    nix::unistd::geteuid().is_root().then_some("--user=mysql")
}

fn must(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

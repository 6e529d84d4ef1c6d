//! A private PostgreSQL server: its own data directory, a free port, gone with the value.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

const BIN: &str = "/usr/lib/postgresql/15/bin";

/// A running server. The user of the tests' own connections to it is its superuser, `postgres`.
pub struct Postgres {
    dir: tempfile::TempDir,
    /// Its TCP port on loopback.
    pub port: u16,
}

impl Postgres {
    /// Makes and starts a server whose TCP clients authenticate as `hba` says; over the UNIX socket all are trusted.
    pub fn start(hba: &str) -> Self {
        Postgres::start_with(hba, "", &[])
    }

    /// The same, with lines for postgresql.conf, and with files of these names and contents in the data directory that
    /// nobody but the server may read.
    pub fn start_with(hba: &str, settings: &str, files: &[(&str, &str)]) -> Self {
        assert!(
            Path::new(BIN).is_dir(),
            "{BIN} is missing: these tests need Debian's package postgresql-15"
        );
        let dir = tempfile::Builder::new()
            .prefix("wakelag-pg-")
            .tempdir_in("/tmp")
            .unwrap();
        // The server runs as another user, who has to get in.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        // Free a moment ago; nobody else asks for it within the second.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let server = Postgres { dir, port };
        let data = server.data();
        must(
            as_postgres("initdb")
                .args(["--no-sync", "-A", "trust", "-D"])
                .arg(&data),
        );
        let hba = format!("local all all trust\n{hba}\n");
        std::fs::write(data.join("pg_hba.conf"), hba).unwrap();
        let owner = std::fs::metadata(&data).unwrap().uid();
        for (name, content) in files {
            let path = data.join(name);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            std::os::unix::fs::chown(&path, Some(owner), None).unwrap();
        }
        let mut configuration = std::fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .unwrap();
        writeln!(configuration, "{settings}").unwrap();
        server.go();
        server
    }

    /// Starts a server that was stopped.
    pub fn go(&self) {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=30 -c shared_buffers=16MB",
            self.port,
            self.dir.path().display()
        );
        let log = self.dir.path().join("log");
        // pg_ctl leaves its output open to the server it starts: waiting for the end of a pipe would never end.
        let status = as_postgres("pg_ctl")
            .args(["-w", "-t", "60", "-o", &options, "-l"])
            .arg(&log)
            .arg("-D")
            .arg(self.data())
            .arg("start")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let log = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(status.success(), "{}", log());
    }

    /// Stops the server, ending every session.
    pub fn stop(&self) {
        must(
            as_postgres("pg_ctl")
                .args(["-w", "-m", "fast", "stop", "-D"])
                .arg(self.data()),
        );
    }

    /// Runs statements as superuser and returns their rows, unaligned.
    pub fn sql(&self, text: &str) -> String {
        let output = must(self.psql().args(["-c", text]));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A session that has run `text` and stays open.
    pub fn session(&self, text: &str) -> Session {
        let mut child = self
            .psql()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{text}\n\\echo done").unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "done"));
        Session {
            child,
            input: Some(input),
        }
    }

    /// The directory of the UNIX socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join(format!(".s.PGSQL.{}", self.port))
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn psql(&self) -> Command {
        let mut psql = Command::new(format!("{BIN}/psql"));
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "postgres",
            "-h",
        ])
        .arg(self.dir.path())
        .args(["-p", &self.port.to_string(), "postgres"]);
        psql
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Already stopped is as good.
        let _ = as_postgres("pg_ctl")
            .args(["-w", "-m", "immediate", "stop", "-D"])
            .arg(self.data())
            .output();
    }
}

/// An open session; it ends with the value.
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
}

impl Session {
    /// Runs `text` and ends the session.
    pub fn end(mut self, text: &str) {
        if let Some(input) = &mut self.input {
            writeln!(input, "{text}").unwrap();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A program of the server, which refuses to run as root.
fn as_postgres(program: &str) -> Command {
    let program = format!("{BIN}/{program}");
    if !nix::unistd::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command.current_dir("/tmp");
    command
}

fn must(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

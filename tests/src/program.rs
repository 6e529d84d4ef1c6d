//! Programs under test, started as processes of their own and ended with the value.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Everything has to be up within this.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A process of ours: `wakelag-exporter` or `wakelag-probe`.
#[derive(Debug)]
pub struct Program {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    name: String,
}

impl Program {
    /// Starts the program `name` of this build with `arguments`.
    ///
    /// # Panics
    /// If it was not built, or cannot be started.
    pub fn start(name: &str, arguments: &[&str]) -> Program {
        let mut command = Command::new(binary(name));
        command.args(arguments);
        Program::spawn(name, command)
    }

    /// Starts `command`, whose standard error is kept as the log of `name`.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn spawn(name: &str, mut command: Command) -> Program {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let log = Arc::new(Mutex::new(Vec::new()));
        if let Some(stderr) = child.stderr.take() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    log.lock().unwrap_or_else(|e| e.into_inner()).push(line);
                }
            });
        }
        Program {
            child,
            log,
            name: name.to_owned(),
        }
    }

    /// The address it serves on, as its log says: `http://127.0.0.1:PORT`.
    ///
    /// # Panics
    /// If it ends or says nothing of it in time.
    pub fn address(&mut self) -> String {
        self.wait_for("its address in the log", |program| {
            let log = program.log();
            let start = log.find("http://")?;
            let end = log[start + 7..].find('/')?;
            Some(log[start..start + 7 + end].to_owned())
        })
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .join("\n")
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `found` finds something.
    ///
    /// # Panics
    /// If the program ends before, or nothing is found in time.
    pub fn wait_for<T>(&mut self, what: &str, found: impl Fn(&Program) -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let ended = self.child.try_wait().ok().flatten();
            let overdue = started.elapsed() > PATIENCE;
            if overdue || ended.is_some() {
                let (name, log) = (&self.name, self.log());
                panic!("{name}: no {what}; ended: {ended:?}; its log:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to end, and waits until it has; its exit code.
    ///
    /// # Panics
    /// If it does not end in time.
    pub fn terminate(&mut self) -> Option<i32> {
        signal(self.pid());
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{} does not end; its log:\n{}", self.name, self.log());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32) {
    let pid = i32::try_from(pid).map(nix::unistd::Pid::from_raw);
    if let Ok(pid) = pid {
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
    }
}

/// The program `name` of this build: the directory above the one test programs are built in.
///
/// # Panics
/// If it was not built.
pub fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let path = own.ancestors().nth(2).map(|dir| dir.join(name));
    let path = path.unwrap_or_default();
    assert!(
        path.exists(),
        "{} is not built: run `cargo build --workspace` first",
        path.display()
    );
    path
}

/// A port of the loopback interface that nobody listens on now.
///
/// # Panics
/// If there is none.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .unwrap_or_else(|error| panic!("127.0.0.1:0: {error}"))
        .port()
}

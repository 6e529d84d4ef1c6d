//! What a PostgreSQL server may say: framing, authentication, errors, rows; and statements with placeholders.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use probe::config::{self, Target};
use probe::engine::{self, Failure, Outcome, Phases, Session};
use probe::workload::{Draws, Param, Protocol, Workload};
use tempfile::TempDir;

use super::machine::scratch;

const PASSWORD: &str = "canary-in-a-coal-mine";
/// What stands in a script where the client is to be heard first.
const HEARD: &[u8] = b"{heard}";
/// What stands in a script for the nonce that the client chose.
const NONCE: &[u8] = b"{nonce}";
/// A client that has nothing to say is not waited for longer than this.
const PATIENCE: Duration = Duration::from_millis(5);
/// A message of a failure goes into the log: longer than this it is no message.
const LONGEST_MESSAGE: usize = 5000;

thread_local! {
    static SERVER: Server = Server::start();
}

/// A server that says what it is given, in a thread of its own, and a target on it.
struct Server {
    scripts: Sender<Vec<u8>>,
    heard: Receiver<Vec<u8>>,
    target: Target,
    _dir: TempDir,
}

impl Server {
    fn start() -> Self {
        let dir = scratch();
        let socket = dir.path().join("s");
        std::fs::write(dir.path().join("password"), PASSWORD).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let text = format!(
            "targets:\n  - name: t\n    engine: postgres\n    address: unix:{}\n    user: u\n    password_file: password\n    \
             timeout: {{connect: 10s, query: 10s}}\n    workloads: [select1, point-select]\n",
            socket.display()
        );
        let mut config = config::parse(&dir.path().join("probe.yaml"), &text).unwrap();
        let (scripts, script) = channel();
        let (hear, heard) = channel();
        // Ends with the channel.
        std::thread::spawn(move || serve(&listener, &script, &hear));
        Server {
            scripts,
            heard,
            target: config.targets.remove(0),
            _dir: dir,
        }
    }
}

fn serve(listener: &UnixListener, scripts: &Receiver<Vec<u8>>, heard: &Sender<Vec<u8>>) {
    for script in scripts {
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut told = Vec::new();
        // A client that has gone hears no more.
        let _ = say(&mut peer, &script, &mut told);
        let _ = peer.shutdown(std::net::Shutdown::Write);
        peer.set_read_timeout(None).unwrap();
        let _ = peer.read_to_end(&mut told);
        if heard.send(told).is_err() {
            return;
        }
    }
}

fn say(peer: &mut UnixStream, script: &[u8], told: &mut Vec<u8>) -> std::io::Result<()> {
    let mut buffer = [0; 64 * 1024];
    for (number, part) in split(script, HEARD).into_iter().enumerate() {
        if number > 0 {
            // One thing said is one write.
            match peer.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => told.extend_from_slice(&buffer[..read]),
                Err(_) => {}
            }
        }
        let parts = split(part, NONCE);
        peer.write_all(&parts.join(nonce(told).unwrap_or_default()))?;
    }
    Ok(())
}

fn split<'s>(mut script: &'s [u8], mark: &[u8]) -> Vec<&'s [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = script.windows(mark.len()).position(|w| w == mark) {
        parts.push(&script[..at]);
        script = &script[at + mark.len()..];
    }
    parts.push(script);
    parts
}

/// The nonce of a SCRAM exchange's first message: `n,,n=,r=...`, 24 characters.
fn nonce(told: &[u8]) -> Option<&[u8]> {
    let start = told.windows(3).position(|window| window == b",r=")? + 3;
    told.get(start..start + 24)
}

/// The first byte chooses how the statement is sent, the first line is the statement, all else what the server says.
pub(crate) fn run(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let mut parts = rest.splitn(2, |byte| *byte == b'\n');
    let statement = parts.next().and_then(|line| std::str::from_utf8(line).ok());
    let (Some(statement), Some(script)) = (statement, parts.next()) else {
        return;
    };
    // What the configuration refuses never gets here.
    if statement.trim().is_empty() || statement.contains('\0') {
        return;
    }
    SERVER.with(|server| {
        let workload = workload(&server.target, *kind, statement);
        server.scripts.send(script.to_vec()).unwrap();
        let mut phases = Phases::default();
        let connected = engine::of(&server.target).connect(&workload, &mut phases);
        let answered = match connected {
            Ok(mut session) => ask(&mut *session, &workload),
            Err(failure) => {
                refused(&failure, script);
                false
            }
        };
        let told = server.heard.recv().unwrap();
        if answered && workload.statement.protocol == Protocol::Simple && !statement.contains('$') {
            let sent = told.windows(statement.len());
            assert!(sent.into_iter().any(|w| w == statement.as_bytes()));
        }
    });
}

fn workload(target: &Target, kind: u8, statement: &str) -> Workload {
    let preset = &*target.workloads[usize::from(kind % 3 == 2)];
    let mut workload = preset.clone();
    if kind % 3 != 2 {
        workload.statement.text = statement.to_owned();
        workload.statement.params = vec![Param::uniform(-7, -7), Param::uniform(8, 8)];
    }
    if kind % 3 == 1 {
        workload.statement.protocol = Protocol::Simple;
    }
    workload
}

/// Asks three times, or until the session is over; whether a query was answered.
fn ask(session: &mut dyn Session, workload: &Workload) -> bool {
    let mut draws = Draws::new(1);
    let mut answered = false;
    for _ in 0..3 {
        let params = workload.statement.params.iter();
        let params: Vec<i64> = params.map(|param| param.draw(&mut draws)).collect();
        match session.execute(&params) {
            Ok(timings) => {
                answered = true;
                let rows = [timings.first_row, timings.last_row];
                assert_eq!(rows[0].is_some(), rows[1].is_some());
                let [first, last] = rows.map(|row| row.unwrap_or(timings.started));
                assert!(timings.started <= first && first <= last && last <= timings.done);
            }
            Err(failure) => {
                sound(&failure);
                if !failure.usable {
                    break;
                }
            }
        }
    }
    answered
}

fn refused(failure: &Failure, script: &[u8]) {
    sound(failure);
    let password = PASSWORD.as_bytes();
    let repeated = script.windows(password.len()).any(|w| w == password);
    assert!(repeated || !failure.message.contains(PASSWORD), "{failure}");
}

fn sound(failure: &Failure) {
    assert_ne!(failure.outcome, Outcome::Ok);
    assert_ne!(
        failure.message, "no reply in time",
        "the server had said all"
    );
    assert!(!failure.message.is_empty());
    assert!(
        failure.message.chars().count() <= LONGEST_MESSAGE,
        "{failure}"
    );
}

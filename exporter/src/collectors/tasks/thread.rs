//! The files of one thread below `/proc/PID/task/TID`: `stat`, `schedstat`, `sched`, `status`.

use crate::parse::{self, ParseError};
use crate::root::{Error, Root};

/// Names of the scheduling policies, as they are published.
pub(super) const POLICIES: [&str; 7] = ["other", "fifo", "rr", "batch", "idle", "deadline", "ext"];
/// The kernel's numbers of [`POLICIES`].
const POLICY_NUMBERS: [u64; 7] = [0, 1, 2, 3, 5, 6, 7];
/// Positions in [`POLICIES`] of those that the fair scheduler gives slices to.
const FAIR: [usize; 3] = [0, 3, 4];
/// PF_KTHREAD in the flags of `stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What a thread has counted since it began, or a group of threads; `None` where this kernel does not count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Time on a CPU, in nanoseconds.
    pub(super) running_ns: Option<u64>,
    /// Time ready to run and not running, in nanoseconds.
    pub(super) waiting_ns: Option<u64>,
    /// Times it was put on a CPU.
    pub(super) timeslices: Option<u64>,
    /// Times it went on on another CPU.
    pub(super) migrations: Option<u64>,
    /// Context switches because it had to wait.
    pub(super) voluntary: Option<u64>,
    /// Context switches because another one was to run.
    pub(super) involuntary: Option<u64>,
}

/// A thread as it is now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Thread {
    /// When it began, in 1/100 s since the boot: with its number, what tells it from any other.
    pub(super) start_ticks: u64,
    /// Position in [`POLICIES`].
    pub(super) policy: usize,
    /// What it has counted.
    pub(super) counts: Counts,
    /// Number of CPUs it may run on.
    pub(super) allowed_cpus: u64,
    /// The slice it has, in nanoseconds, where this kernel says so and the policy has slices.
    pub(super) slice_ns: Option<u64>,
}

impl Thread {
    /// Reads the thread `tid` of process `pid`; `None` if it ended before all was read.
    ///
    /// # Errors
    /// A file that cannot be read or understood.
    pub(super) fn read(root: &Root, pid: u32, tid: u32) -> Result<Option<Self>, Error> {
        let file = |name| format!("{pid}/task/{tid}/{name}");
        let stat = |text: &str| stat(text).and_then(|stat| Ok((policy(stat.policy)?, stat)));
        let Some((policy, stat)) = living(root, &file("stat"), stat)? else {
            return Ok(None);
        };
        // Kernels without CONFIG_SCHED_INFO and CONFIG_SCHED_DEBUG have no such files.
        let times = living(root, &file("schedstat"), schedstat)?;
        let sched = living(root, &file("sched"), sched)?.unwrap_or_default();
        let Some(status) = living(root, &file("status"), status)? else {
            return Ok(None);
        };
        let time = |index: usize| times.map(|times| times[index]);
        Ok(Some(Thread {
            start_ticks: stat.start_ticks,
            policy,
            counts: Counts {
                running_ns: time(0),
                waiting_ns: time(1),
                timeslices: time(2),
                migrations: sched.migrations,
                voluntary: Some(status.voluntary),
                involuntary: Some(status.involuntary),
            },
            allowed_cpus: status.allowed_cpus,
            slice_ns: sched.slice_ns.filter(|_| FAIR.contains(&policy)),
        }))
    }
}

/// Reads a file of a process or thread; `None` if there is none any more: it ended, as ENOENT, ESRCH or an empty file
/// say, depending on when.
///
/// # Errors
/// Any other error.
pub(super) fn living<T>(
    root: &Root,
    path: &str,
    parser: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Result<Option<T>, Error> {
    use nix::errno::Errno;
    let read = root.parse_bytes(&mut root.proc(path), |bytes| match bytes {
        b"" => Ok(None),
        bytes => parser(&String::from_utf8_lossy(bytes)).map(Some),
    });
    match read {
        Err(error) if matches!(error.errno(), Some(Errno::ENOENT | Errno::ESRCH)) => Ok(None),
        other => other,
    }
}

/// What is used of `/proc/PID/task/TID/stat`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The name, of 15 bytes at most.
    pub(super) comm: String,
    /// The parent of its process.
    pub(super) parent: u32,
    /// Whether it is one of the kernel's own.
    pub(super) is_kernel: bool,
    /// Number of threads of its process.
    pub(super) threads: u64,
    /// When it began, in 1/100 s since the boot.
    pub(super) start_ticks: u64,
    /// The kernel's number of its scheduling policy.
    pub(super) policy: u64,
}

/// `/proc/PID/task/TID/stat`: `7 (a) b) S 1 ...`. The name may hold blanks and parentheses; the last `)` ends it.
///
/// # Errors
/// Too few fields, a field that is not a number.
pub(super) fn stat(text: &str) -> Result<Stat, ParseError> {
    let bad = |problem: String| ParseError::new(1, problem);
    let names = text
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'));
    let (comm, rest) = names.ok_or_else(|| bad("no name in parentheses".to_owned()))?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc_pid_stat(5) counts from 1; behind the name is field 3.
    let field = |number: usize| match fields.get(number - 3) {
        Some(field) => parse::field(1, field),
        None => Err(bad(format!("no field {number}"))),
    };
    Ok(Stat {
        comm: comm.to_owned(),
        parent: u32::try_from(field(4)?).map_err(|error| bad(error.to_string()))?,
        is_kernel: field(9)? & KERNEL_THREAD != 0,
        threads: field(20)?,
        start_ticks: field(22)?,
        policy: field(41)?,
    })
}

/// The position in [`POLICIES`] of the kernel's number of a policy.
///
/// # Errors
/// A policy that is not known here.
pub(super) fn policy(number: u64) -> Result<usize, ParseError> {
    let position = POLICY_NUMBERS.iter().position(|known| *known == number);
    position.ok_or_else(|| ParseError::new(1, format!("policy {number} is not known")))
}

/// `/proc/PID/task/TID/schedstat`: time run and time waited in nanoseconds, and timeslices.
///
/// # Errors
/// Anything but three numbers.
pub(super) fn schedstat(text: &str) -> Result<[u64; 3], ParseError> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let &[running, waiting, timeslices] = fields.as_slice() else {
        return Err(ParseError::new(1, "not three numbers"));
    };
    Ok([
        parse::field(1, running)?,
        parse::field(1, waiting)?,
        parse::field(1, timeslices)?,
    ])
}

/// What is used of `/proc/PID/task/TID/sched`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sched {
    migrations: Option<u64>,
    /// Since Linux 6.8; the same number as sched_getattr's since 6.12.
    slice_ns: Option<u64>,
}

/// `/proc/PID/task/TID/sched`: `key : value` a line, with a head that is passed over.
///
/// # Errors
/// A value of ours that is not a number.
pub(super) fn sched(text: &str) -> Result<Sched, ParseError> {
    let mut sched = Sched::default();
    for (line, content) in (1..).zip(text.lines()) {
        let Some((key, value)) = content.split_once(':') else {
            continue;
        };
        let number = || parse::field(line, value.trim()).map(Some);
        match key.trim_end() {
            "se.nr_migrations" => sched.migrations = number()?,
            // 0 until it is first put into a queue.
            "se.slice" => sched.slice_ns = number()?.filter(|ns| *ns > 0),
            _ => {}
        }
    }
    Ok(sched)
}

/// What is used of `/proc/PID/task/TID/status`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Status {
    voluntary: u64,
    involuntary: u64,
    allowed_cpus: u64,
}

/// `/proc/PID/task/TID/status`: `Key:` and a value a line.
///
/// # Errors
/// A line of ours is missing or broken.
pub(super) fn status(text: &str) -> Result<Status, ParseError> {
    let find = |key: &str| {
        let mut lines = (1..).zip(text.lines());
        let found = lines.find_map(|(line, content)| {
            let value = content.strip_prefix(key)?.strip_prefix(':')?;
            Some((line, value.trim()))
        });
        found.ok_or_else(|| ParseError::new(1, format!("no line {key}")))
    };
    let number = |key| find(key).and_then(|(line, value)| parse::field(line, value));
    let (_, cpus) = find("Cpus_allowed_list")?;
    Ok(Status {
        voluntary: number("voluntary_ctxt_switches")?,
        involuntary: number("nonvoluntary_ctxt_switches")?,
        allowed_cpus: parse::cpu_list(cpus)?.len() as u64,
    })
}

#[cfg(test)]
mod tests;

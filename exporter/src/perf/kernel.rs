//! The call to the kernel.
//!
//! Unsafe, because perf_event_open(2) is in no safe interface that is as small: it is called with a structure of ours that
//! it only reads, and gives a descriptor that nobody else has. The structure, its constants and the call are those of the
//! crate perf-event-open-sys; crates that are safe bring memory maps and samples, of which nothing is needed here.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use perf_event_open_sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_RUNNING, perf_event_attr,
};
use perf_event_open_sys::perf_event_open;

use super::{Counters, Perf};

/// How long [`Perf::count_here`] counts: the clocks of both numbers are read less than a microsecond apart.
const COUNT_FOR: Duration = Duration::from_millis(2);
/// How long it may take to run for so long.
const PATIENCE: Duration = Duration::from_millis(200);

/// The kernel this program runs on.
#[derive(Debug, Default)]
pub struct Kernel;

/// The first file is the leader: reading it reads all.
#[derive(Debug)]
struct Group(Vec<File>);

/// What an event is about.
enum Of {
    Cpu(u32),
    ThisThread,
}

impl Perf for Kernel {
    fn open(&self, kind: u32, configs: &[u64], cpu: u32) -> Result<Box<dyn Counters>, Errno> {
        let mut group = Vec::with_capacity(configs.len());
        for config in configs {
            let format = u64::from(PERF_FORMAT_GROUP);
            group.push(event(kind, *config, &Of::Cpu(cpu), group.first(), format)?);
        }
        Ok(Box::new(Group(group)))
    }

    fn count_here(&self, kind: u32, config: u64) -> Result<(u64, u64), Errno> {
        let format = u64::from(PERF_FORMAT_TOTAL_TIME_RUNNING);
        let mut file = event(kind, config, &Of::ThisThread, None, format)?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let [count, running_ns] = numbers(&mut file, 2)?[..] else {
                return Err(Errno::ENODATA);
            };
            if u128::from(running_ns) >= COUNT_FOR.as_nanos() {
                return Ok((count, running_ns));
            }
        }
        Err(Errno::ETIME)
    }
}

impl Counters for Group {
    fn read(&mut self) -> Result<Vec<u64>, Errno> {
        let events = self.0.len();
        let leader = self.0.first_mut().ok_or(Errno::ENODEV)?;
        let mut numbers = numbers(leader, 1 + events)?;
        // The number of events, then theirs.
        numbers.remove(0);
        Ok(numbers)
    }
}

/// Starts to count an event as a member of the group that `leader` leads.
fn event(
    kind: u32,
    config: u64,
    of: &Of,
    leader: Option<&File>,
    read_format: u64,
) -> Result<File, Errno> {
    let mut attributes = perf_event_attr {
        type_: kind,
        size: size_of::<perf_event_attr>() as u32,
        config,
        read_format,
        ..Default::default()
    };
    let (pid, cpu) = match of {
        Of::Cpu(cpu) => (-1, i32::try_from(*cpu).map_err(|_| Errno::EINVAL)?),
        Of::ThisThread => (0, -1),
    };
    let leader = leader.map_or(-1, |leader| leader.as_raw_fd());
    let flags = PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are a live, initialised structure whose size they say; the kernel reads them and keeps nothing.
    let descriptor = unsafe { perf_event_open(&mut attributes, pid, cpu, leader, flags) };
    let descriptor = Errno::result(descriptor)?;
    // SAFETY: the kernel has just made the descriptor for this call, so the file is its only owner.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Reads `count` numbers. An event in an error state, as when its CPU has gone, reads as an empty file.
fn numbers(file: &mut File, count: usize) -> Result<Vec<u64>, Errno> {
    let mut bytes = vec![0; count * size_of::<u64>()];
    let read = file.read(&mut bytes);
    let read = read.map_err(|error| {
        error
            .raw_os_error()
            .map_or(Errno::UnknownErrno, Errno::from_raw)
    })?;
    if read != bytes.len() {
        return Err(Errno::ENODEV);
    }
    let (numbers, _) = bytes.as_chunks();
    Ok(numbers
        .iter()
        .map(|number| u64::from_ne_bytes(*number))
        .collect())
}

#[cfg(test)]
mod tests {
    use perf_event_open_sys::bindings::{
        PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_TYPE_SOFTWARE,
    };

    use super::*;

    /// The kernel's own clock, which every machine counts: nanoseconds.
    const CLOCKS: [u64; 2] = [
        PERF_COUNT_SW_CPU_CLOCK as u64,
        PERF_COUNT_SW_TASK_CLOCK as u64,
    ];

    #[test]
    fn a_group_on_a_cpu_counts_or_is_denied_to_who_may_not() {
        let mut group = match Kernel.open(PERF_TYPE_SOFTWARE, &CLOCKS, 0) {
            Ok(group) => group,
            Err(errno) => {
                let denied = matches!(errno, Errno::EACCES | Errno::EPERM);
                assert!(denied && !nix::unistd::geteuid().is_root(), "{errno}");
                return;
            }
        };
        let first = group.read().unwrap();
        std::thread::sleep(Duration::from_millis(1));
        let second = group.read().unwrap();
        assert_eq!((first.len(), second.len()), (2, 2));
        assert!(second[0] > first[0], "{first:?} {second:?}");
    }

    #[test]
    fn what_the_kernel_does_not_count_is_an_error() {
        let refused = Kernel.open(PERF_TYPE_SOFTWARE, &[12345], 0).unwrap_err();
        assert_ne!(refused, Errno::UnknownErrno);
        let refused = Kernel.count_here(u32::MAX, 0).unwrap_err();
        assert_ne!(refused, Errno::UnknownErrno);
        let nowhere = Kernel.open(PERF_TYPE_SOFTWARE, &CLOCKS, u32::MAX);
        assert_eq!(nowhere.unwrap_err(), Errno::EINVAL);
    }

    /// The clock of the thread against the time the thread ran: the same nanoseconds, counted twice.
    #[test]
    fn a_count_of_this_thread_is_of_the_time_it_ran() {
        let (count, running_ns) = match Kernel.count_here(PERF_TYPE_SOFTWARE, CLOCKS[1]) {
            Ok(counted) => counted,
            Err(errno) => {
                let denied = matches!(errno, Errno::EACCES | Errno::EPERM);
                assert!(denied && !nix::unistd::geteuid().is_root(), "{errno}");
                return;
            }
        };
        let ratio = count as f64 / running_ns as f64;
        assert!((0.9..1.1).contains(&ratio), "{count} of {running_ns} ns");
    }
}

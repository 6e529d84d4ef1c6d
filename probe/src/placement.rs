//! Where and how the calling thread runs: its CPU, its scheduling policy and its timer slack.
//!
//! Unsafe: `sched_setscheduler(2)` is not wrapped by nix. It takes a pid and a pointer to a structure it only reads,
//! which lives on the stack for the call; 0 means the calling thread.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::config::{Placement, Scheduling};

/// Why a thread cannot run as configured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The CPU cannot be used.
    #[error(
        "cannot stay on CPU {cpu}: {errno}; choose one of Cpus_allowed_list in /proc/self/status"
    )]
    Cpu {
        /// The CPU asked for.
        cpu: usize,
        /// What the kernel said.
        errno: Errno,
    },
    /// The policy cannot be used.
    #[error(
        "cannot run under {scheduling:?}: {errno}; a real-time policy needs CAP_SYS_NICE or RLIMIT_RTPRIO"
    )]
    Scheduling {
        /// The policy asked for.
        scheduling: Scheduling,
        /// What the kernel said.
        errno: Errno,
    },
}

/// Puts the calling thread where `placement` says, and makes its timers exact: the default slack lets the kernel end
/// a sleep 50 us late to save a wake-up.
///
/// # Errors
/// The CPU is not there or not allowed, or the policy needs a capability.
pub fn apply(placement: Placement) -> Result<(), Error> {
    if let Some(cpu) = placement.cpu {
        let mut set = CpuSet::new();
        set.set(cpu)
            .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
            .map_err(|errno| Error::Cpu { cpu, errno })?;
    }
    let (policy, priority) = match placement.scheduling {
        Scheduling::Other => (libc::SCHED_OTHER, 0),
        Scheduling::Batch => (libc::SCHED_BATCH, 0),
        Scheduling::Fifo(priority) => (libc::SCHED_FIFO, priority),
    };
    let param = libc::sched_param {
        sched_priority: i32::from(priority),
    };
    // SAFETY: see the module's documentation.
    Errno::result(unsafe { libc::sched_setscheduler(0, policy, &param) }).map_err(|errno| {
        Error::Scheduling {
            scheduling: placement.scheduling,
            errno,
        }
    })?;
    // Only a kernel without timer slack at all refuses this, and then there is none to take away.
    let _ = nix::sys::prctl::set_timerslack(1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_placed_as_asked() {
        let placed = std::thread::spawn(|| {
            apply(Placement {
                cpu: Some(0),
                scheduling: Scheduling::Batch,
            })
            .unwrap();
            let allowed = nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap();
            let on: Vec<usize> = (0..CpuSet::count())
                .filter(|cpu| allowed.is_set(*cpu).unwrap())
                .collect();
            // SAFETY: takes a pid only.
            let policy = unsafe { libc::sched_getscheduler(0) };
            (on, policy, nix::sys::prctl::get_timerslack().unwrap())
        });
        assert_eq!(placed.join().unwrap(), (vec![0], libc::SCHED_BATCH, 1));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_by_name() {
        let refused = std::thread::spawn(|| {
            apply(Placement {
                cpu: Some(1023),
                scheduling: Scheduling::Other,
            })
        });
        let message = refused.join().unwrap().unwrap_err().to_string();
        assert!(
            message.starts_with("cannot stay on CPU 1023: "),
            "{message}"
        );
    }
}

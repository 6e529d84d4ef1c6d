//! When queries are asked: an open loop on a grid of absolute instants, and the sleep that keeps it.
//!
//! The grid is fixed at the start and never moves, so a slow reply does not push later starts away: they are late, and
//! their response time says so (coordinated omission is the name of the mistake otherwise). What is late is caught up
//! once, in order; what is later than a bound is dropped and counted, so that a rate above capacity costs neither
//! memory nor an ever growing response time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// The grid of intended starts of one lane.
#[derive(Debug)]
pub struct Schedule {
    next: Instant,
    every: Duration,
    backlog: Duration,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The intended start: in the past where the lane is behind.
    pub intended: Instant,
    /// How many intended starts before it are given up.
    pub dropped: u64,
}

impl Schedule {
    /// A grid from `first` on, `every` apart; starts more than `backlog` late are dropped. With `every` zero the next
    /// start is always now.
    pub fn new(first: Instant, every: Duration, backlog: Duration) -> Self {
        Schedule {
            next: first,
            every,
            backlog,
        }
    }

    /// Takes the next intended start.
    pub fn take(&mut self, now: Instant) -> Due {
        if self.every.is_zero() {
            return Due {
                intended: now,
                dropped: 0,
            };
        }
        let oldest = now.checked_sub(self.backlog).unwrap_or(self.next);
        let dropped = self.skip(oldest);
        let intended = self.next;
        self.next += self.every;
        Due { intended, dropped }
    }

    /// Gives up the intended starts before `until` and says how many those were.
    pub fn skip(&mut self, until: Instant) -> u64 {
        let behind = until.saturating_duration_since(self.next).as_nanos();
        if self.every.is_zero() || behind == 0 {
            return 0;
        }
        let skipped = behind.div_ceil(self.every.as_nanos());
        self.next += Duration::from_nanos_u128(skipped * self.every.as_nanos());
        u64::try_from(skipped).unwrap_or(u64::MAX)
    }
}

/// Ends every lane that holds it.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

/// A lane sleeps its last 100 ms where a stop cannot reach it, so a stop takes at most that long.
const UNDISTURBED: Duration = Duration::from_millis(100);

impl Stop {
    /// Ends the lanes.
    pub fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Whether [`Stop::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes every lane that looks whether it is stopped wait, as on a host that does not run it.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> std::sync::MutexGuard<'_, bool> {
        self.stopped.lock().unwrap()
    }

    /// Sleeps until `deadline`; `false` if stopped meanwhile.
    ///
    /// A sleep of more than 100 ms waits on a condition for all but its last 100 ms, which a stop ends at once; the
    /// rest is one `clock_nanosleep` to an absolute time, which no signal and no clock step moves. So a long sleep has
    /// one wake-up more than needed, 100 ms before the query: long before the deepest idle state is entered again,
    /// where slices of a fixed length would wake the CPU at any time before it.
    pub fn sleep_until(&self, deadline: Instant) -> bool {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(interruptible) = left.checked_sub(UNDISTURBED).filter(|d| !d.is_zero()) else {
                break;
            };
            let woken = self.changed.wait_timeout(stopped, interruptible);
            stopped = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        if *stopped {
            return false;
        }
        drop(stopped);
        sleep_until(deadline);
        !self.is_stopped()
    }
}

/// `clock_nanosleep` on CLOCK_MONOTONIC, which is the clock behind [`Instant`] on Linux, to an absolute time.
fn sleep_until(deadline: Instant) {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        // An `Instant` does not show its value: the absolute time is the clock now plus what is left, and the few
        // nanoseconds between the two readings end up as timer lag.
        let Ok(now) = clock_gettime(ClockId::CLOCK_MONOTONIC) else {
            std::thread::sleep(left);
            continue;
        };
        let absolute = TimeSpec::from_duration(Duration::from(now) + left);
        // Woken early by a signal, the loop sleeps again.
        let _ = clock_nanosleep(
            ClockId::CLOCK_MONOTONIC,
            ClockNanosleepFlags::TIMER_ABSTIME,
            &absolute,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn starts_stay_on_the_grid_however_late_the_lane_is() {
        let first = Instant::now();
        let mut schedule = Schedule::new(first, 10 * MS, 2000 * MS);
        assert_eq!(schedule.take(first).intended, first);
        // A reply that took a second: the missed starts come one by one, each once.
        let now = first + 1005 * MS;
        for n in 1..=100 {
            let due = schedule.take(now);
            assert_eq!((due.intended, due.dropped), (first + n * 10 * MS, 0));
        }
        assert_eq!(schedule.take(now).intended, first + 1010 * MS);
    }

    #[test]
    fn what_is_later_than_the_backlog_is_dropped_once() {
        let first = Instant::now();
        let mut schedule = Schedule::new(first, 10 * MS, 50 * MS);
        let now = first + 105 * MS;
        let due = schedule.take(now);
        assert_eq!((due.intended, due.dropped), (first + 60 * MS, 6));
        assert_eq!(schedule.take(now).dropped, 0);
    }

    #[test]
    fn skipping_ends_at_the_next_start_that_is_not_past() {
        let first = Instant::now();
        let mut schedule = Schedule::new(first, 10 * MS, 2000 * MS);
        assert_eq!(schedule.skip(first), 0);
        assert_eq!(schedule.skip(first + 20 * MS), 2);
        assert_eq!(schedule.skip(first + 25 * MS), 1);
        assert_eq!(schedule.take(first + 25 * MS).intended, first + 30 * MS);
    }

    #[test]
    fn a_start_584_years_ahead_left_the_grid() {
        let first = Instant::now();
        let years = Duration::from_nanos(u64::MAX);
        let mut schedule = Schedule::new(first, years, MS);
        assert_eq!(schedule.skip(first + years + MS), 2);
        assert_eq!(
            schedule.take(first + years + MS).intended,
            first + 2 * years
        );
    }

    #[test]
    fn a_closed_loop_is_always_due() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now, Duration::ZERO, MS);
        let due = schedule.take(now + 5 * MS);
        assert_eq!((due.intended, due.dropped), (now + 5 * MS, 0));
        assert_eq!(schedule.skip(now + 9 * MS), 0);
    }

    #[test]
    fn a_sleep_never_ends_early() {
        let stop = Stop::default();
        for millis in [0, 3, 130] {
            let deadline = Instant::now() + millis * MS;
            assert!(stop.sleep_until(deadline));
            assert!(Instant::now() >= deadline);
        }
    }

    #[test]
    fn a_stop_ends_a_long_sleep() {
        let stop = Arc::new(Stop::default());
        let sleeper = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || stop.sleep_until(Instant::now() + Duration::from_secs(20))
        });
        let begun = Instant::now();
        stop.stop();
        assert!(!sleeper.join().unwrap());
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(!stop.sleep_until(Instant::now()));
    }
}

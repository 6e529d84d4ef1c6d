//! The grid of intended starts.

use std::time::{Duration, Instant};

use probe::schedule::Schedule;

/// Steps of one input.
const STEPS: usize = 64;

/// Eight bytes are the time between starts, eight the backlog, and each nine behind them a step: what is done and how far
/// the clock went meanwhile, all in nanoseconds.
pub(crate) fn run(bytes: &[u8]) {
    let Some((head, steps)) = bytes.split_first_chunk::<16>() else {
        return;
    };
    let [every, backlog] = [&head[..8], &head[8..]].map(nanos);
    let first = Instant::now();
    let mut grid = Grid {
        first,
        every,
        backlog,
        given: 0,
    };
    let mut schedule = Schedule::new(first, every, backlog);
    let mut now = first;
    for step in steps.chunks_exact(9).take(STEPS) {
        let Some(later) = now.checked_add(nanos(&step[1..])) else {
            return;
        };
        now = later;
        match step[0] % 2 {
            0 => grid.skipped(now, schedule.skip(now)),
            _ => {
                let due = schedule.take(now);
                grid.taken(now, due.intended, due.dropped);
            }
        }
    }
}

fn nanos(bytes: &[u8]) -> Duration {
    let nanos = bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
    Duration::from_nanos(nanos)
}

/// What the schedule has given so far.
struct Grid {
    first: Instant,
    every: Duration,
    backlog: Duration,
    /// Starts taken or given up.
    given: u128,
}

impl Grid {
    /// How many starts of the grid are before `instant`.
    fn before(&self, instant: Instant) -> u128 {
        let since = instant.saturating_duration_since(self.first).as_nanos();
        since.div_ceil(self.every.as_nanos())
    }

    fn skipped(&mut self, until: Instant, skipped: u64) {
        if self.every.is_zero() {
            assert_eq!(skipped, 0);
            return;
        }
        let expected = self.before(until).saturating_sub(self.given);
        assert_eq!(skipped, u64::try_from(expected).unwrap_or(u64::MAX));
        self.given += expected;
    }

    /// A start that is taken is the next one of the grid that is not later than the backlog allows, each once.
    fn taken(&mut self, now: Instant, intended: Instant, dropped: u64) {
        if self.every.is_zero() {
            assert_eq!((intended, dropped), (now, 0));
            return;
        }
        if let Some(oldest) = now.checked_sub(self.backlog) {
            self.skipped(oldest, dropped);
        } else {
            assert_eq!(dropped, 0);
        }
        let since = intended.duration_since(self.first).as_nanos();
        assert_eq!(since, self.given * self.every.as_nanos(), "off the grid");
        self.given += 1;
    }
}

//! Whether reading the current frequency is free on this kernel.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::parse;
use crate::root::Root;

/// x86 asks no CPU for its frequency since then.
const FREE_SINCE: (u32, u32) = (5, 19);
/// A kernel that interrupts the CPU sleeps at least 10 ms in the read; a read of memory takes some microseconds.
const SLOW: Duration = Duration::from_millis(8);
/// How many reads may sleep before the file is left alone.
const SLEEPS: u32 = 3;
/// After so many scrapes in a row without one, reads that slept are forgotten: something else made them wait.
const QUIET_SCRAPES: u32 = 10;

/// Watches reads of `scaling_cur_freq` on kernels whose release does not say that they are free.
///
/// x86 before Linux 5.19 interrupts the CPU twice and sleeps 10 ms between. A read that was just preempted takes as long,
/// but then the thread did not give its CPU up by itself, which the kernel counts apart. A fast read proves nothing: these
/// kernels leave out CPUs that are idle or nohz_full, and those asked less than a second ago, by whomever.
#[derive(Debug, Default)]
pub(super) struct Speed {
    known_free: bool,
    sleeps: u32,
    slept_now: bool,
    quiet_scrapes: u32,
}

impl Speed {
    pub(super) fn new(root: &Root) -> Self {
        let release = root.parse_once(root.proc("sys/kernel/osrelease"), parse::release);
        Speed {
            // A release that is not told, or not understood, is watched as an old one; `settings` says what is wrong.
            known_free: release.is_ok_and(|it| it >= FREE_SINCE),
            ..Speed::default()
        }
    }

    pub(super) fn allows(&self) -> bool {
        self.sleeps < SLEEPS
    }

    /// Does `read`, and sees whether it slept.
    pub(super) fn watch<T>(&mut self, read: impl FnOnce() -> T) -> T {
        if self.known_free {
            return read();
        }
        let (started, before) = (Instant::now(), waits());
        let value = read();
        self.took(started.elapsed(), || waits() > before);
        value
    }

    fn took(&mut self, time: Duration, waited: impl FnOnce() -> bool) {
        if time < SLOW || !waited() {
            return;
        }
        self.slept_now = true;
        self.sleeps += 1;
        if !self.allows() {
            tracing::warn!(
                "reading scaling_cur_freq takes {} ms on this kernel: it interrupts the CPU, so current frequencies are left out",
                time.as_millis()
            );
        }
    }

    /// To be called after each scrape.
    pub(super) fn scraped(&mut self) {
        self.quiet_scrapes = match std::mem::take(&mut self.slept_now) {
            true => 0,
            false => self.quiet_scrapes.saturating_add(1),
        };
        if self.quiet_scrapes >= QUIET_SCRAPES && self.allows() {
            self.sleeps = 0;
        }
    }
}

/// How often this thread gave up its CPU by itself, so far.
fn waits() -> Option<i64> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    Some(usage.voluntary_context_switches())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::root::Paths;

    const LONG: Duration = Duration::from_millis(20);
    const SHORT: Duration = Duration::from_micros(3);

    fn scrape(speed: &mut Speed, reads: &[(Duration, bool)]) {
        for (time, waited) in reads {
            if speed.allows() {
                speed.took(*time, || *waited);
            }
        }
        speed.scraped();
    }

    #[test]
    fn reads_that_sleep_give_a_kernel_away_however_many_others_are_fast() {
        // Linux 5.10: all CPUs but the reader's own are idle or nohz_full, and two Prometheus scrape in turn.
        let mut speed = Speed::default();
        for _ in 0..2 {
            scrape(&mut speed, &[(SHORT, false), (LONG, true), (SHORT, false)]);
            scrape(&mut speed, &[(SHORT, false); 3]);
            assert!(speed.allows());
        }
        scrape(&mut speed, &[(SHORT, false), (LONG, true), (SHORT, false)]);
        assert!(!speed.allows());
        for _ in 0..20 {
            scrape(&mut speed, &[]);
        }
        assert!(!speed.allows(), "what is left alone stays so");
    }

    #[test]
    fn three_busy_cpus_are_enough_within_one_scrape() {
        let mut speed = Speed::default();
        scrape(&mut speed, &[(LONG, true); 8]);
        assert_eq!(speed.sleeps, 3);
    }

    #[test]
    fn a_read_that_was_preempted_did_not_sleep() {
        let mut speed = Speed::default();
        for _ in 0..100 {
            scrape(&mut speed, &[(LONG, false), (SHORT, true)]);
        }
        assert!(speed.allows());
    }

    #[test]
    fn waits_that_are_rare_are_forgotten() {
        let mut speed = Speed::default();
        for _ in 0..10 {
            scrape(&mut speed, &[(LONG, true)]);
            for _ in 0..10 {
                scrape(&mut speed, &[(SHORT, false)]);
            }
        }
        assert!(speed.allows());
    }

    #[test]
    fn a_read_that_sleeps_is_seen_to_unless_the_release_says_it_is_free() {
        for (release, sleeps) in [
            (Some("5.10.0-46-amd64\n"), 1),
            (Some("5.18.19\n"), 1),
            (Some("5.19.0-1\n"), 0),
            (Some("6.1.0-57-amd64\n"), 0),
            (None, 1),
        ] {
            let dir = tempfile::tempdir().unwrap();
            if let Some(release) = release {
                std::fs::create_dir_all(dir.path().join("sys/kernel")).unwrap();
                std::fs::write(dir.path().join("sys/kernel/osrelease"), release).unwrap();
            }
            let nowhere = || Path::new("/nowhere").to_owned();
            let root = Root::new(Paths::new(dir.path().to_owned(), nowhere(), nowhere()));
            let mut speed = Speed::new(&root);
            speed.watch(|| std::thread::sleep(LONG));
            assert_eq!(speed.sleeps, sleeps, "{release:?}");
        }
    }
}

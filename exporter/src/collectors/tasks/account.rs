//! What groups have counted, although their threads come and go.

use std::collections::BTreeMap;

use super::thread::{Counts, Thread};

/// Counters of groups that never go back: each is the sum of what its threads were seen to count.
///
/// What a thread counted between being read last and its end is not in it, nor is one that began and ended between two
/// scrapes.
#[derive(Debug, Default)]
pub(super) struct Account {
    threads: BTreeMap<(u32, u32), Known>,
    groups: Vec<Counts>,
    scrape: u64,
    was_cut: bool,
}

/// A thread as it was read last.
#[derive(Debug)]
struct Known {
    start_ticks: u64,
    counts: Counts,
    scrape: u64,
}

impl Account {
    /// An account of `groups` groups.
    pub(super) fn of(groups: usize) -> Self {
        Account {
            groups: vec![Counts::default(); groups],
            ..Account::default()
        }
    }

    /// Goes on with other groups, each of which takes over what the one at its position `before` has counted. Whether a
    /// thread that is now of a group is an old one is not known: it counts from the next scrape on.
    pub(super) fn regroup(&mut self, before: &[Option<usize>]) {
        let counted = |at: &Option<usize>| at.map_or_else(Counts::default, |at| self.groups[at]);
        self.groups = before.iter().map(counted).collect();
        self.was_cut = true;
    }

    /// Starts a scrape.
    pub(super) fn begin(&mut self) {
        self.scrape += 1;
    }

    /// Credits `group` with what thread `tid` of process `pid` has counted since it was read last. A thread not known yet
    /// began since the last scrape, or before the first, and is credited whole; a number that is used again is a thread
    /// not known yet. Only where threads had been left unread nobody knows how old it is, and it is credited from now on.
    pub(super) fn credit(&mut self, group: usize, pid: u32, tid: u32, thread: &Thread) {
        let now = Known {
            start_ticks: thread.start_ticks,
            counts: thread.counts,
            scrape: self.scrape,
        };
        let known = self.threads.insert((pid, tid), now);
        let before = match known {
            Some(known) if known.start_ticks == thread.start_ticks => known.counts,
            _ if self.was_cut => thread.counts,
            _ => Counts::default(),
        };
        self.groups[group].add(&thread.counts, &before);
    }

    /// Keeps what is known of the threads of `pid`, which were not all read in this scrape.
    pub(super) fn keep(&mut self, pid: u32) {
        for known in self.threads.range_mut((pid, 0)..=(pid, u32::MAX)) {
            known.1.scrape = self.scrape;
        }
    }

    /// Ends a scrape, in which threads were left unread or not: forgets those that are gone.
    pub(super) fn finish(&mut self, was_cut: bool) -> &[Counts] {
        self.threads.retain(|_, known| known.scrape == self.scrape);
        self.was_cut = was_cut;
        &self.groups
    }
}

impl Counts {
    fn fields(&self) -> [Option<u64>; 6] {
        let Counts {
            running_ns,
            waiting_ns,
            timeslices,
            migrations,
            voluntary,
            involuntary,
        } = *self;
        [
            running_ns,
            waiting_ns,
            timeslices,
            migrations,
            voluntary,
            involuntary,
        ]
    }

    /// Adds what was counted from `before` to `now`.
    fn add(&mut self, now: &Counts, before: &Counts) {
        let fields = [
            &mut self.running_ns,
            &mut self.waiting_ns,
            &mut self.timeslices,
            &mut self.migrations,
            &mut self.voluntary,
            &mut self.involuntary,
        ];
        for ((sum, now), before) in fields.into_iter().zip(now.fields()).zip(before.fields()) {
            if let Some(now) = now {
                // Whoever writes to the thread's `sched` sets some of them to 0.
                let counted = now.saturating_sub(before.unwrap_or(0));
                *sum = Some(sum.unwrap_or(0).saturating_add(counted));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(start_ticks: u64, running_ns: u64) -> Thread {
        Thread {
            start_ticks,
            policy: 0,
            counts: Counts {
                running_ns: Some(running_ns),
                ..Counts::default()
            },
            allowed_cpus: 1,
            slice_ns: None,
        }
    }

    /// One scrape of group 0 with the threads `(tid, start, running)` of process 7.
    fn scrape(account: &mut Account, threads: &[(u32, u64, u64)], was_cut: bool) -> Option<u64> {
        account.begin();
        for (tid, start, running) in threads {
            account.credit(0, 7, *tid, &thread(*start, *running));
        }
        if was_cut {
            account.keep(7);
        }
        account.finish(was_cut)[0].running_ns
    }

    #[test]
    fn the_sum_goes_on_when_a_thread_ends() {
        let mut account = Account::of(1);
        assert_eq!(
            scrape(&mut account, &[(7, 1, 100), (8, 1, 50)], false),
            Some(150)
        );
        assert_eq!(scrape(&mut account, &[(7, 1, 110)], false), Some(160));
        assert_eq!(scrape(&mut account, &[], false), Some(160));
        assert_eq!(account.threads.len(), 0);
    }

    #[test]
    fn a_number_that_is_used_again_is_a_new_thread() {
        let mut account = Account::of(1);
        scrape(&mut account, &[(8, 1, 100)], false);
        assert_eq!(scrape(&mut account, &[(8, 2, 30)], false), Some(130));
        assert_eq!(scrape(&mut account, &[(8, 3, 400)], false), Some(530));
    }

    #[test]
    fn a_counter_set_back_by_hand_takes_nothing_away() {
        let mut account = Account::of(1);
        scrape(&mut account, &[(8, 1, 100)], false);
        assert_eq!(scrape(&mut account, &[(8, 1, 40)], false), Some(100));
        assert_eq!(scrape(&mut account, &[(8, 1, 45)], false), Some(105));
    }

    #[test]
    fn a_thread_read_for_the_first_time_after_a_cut_brings_no_past_with_it() {
        let mut account = Account::of(1);
        assert_eq!(scrape(&mut account, &[(8, 1, 100)], true), Some(100));
        // 8 is left unread this time, 9 has long been there.
        assert_eq!(scrape(&mut account, &[(9, 1, 70_000)], true), Some(100));
        assert_eq!(
            scrape(&mut account, &[(8, 1, 160), (9, 1, 70_001)], false),
            Some(161)
        );
    }

    #[test]
    fn other_groups_take_over_what_was_counted_and_bring_no_past() {
        let mut account = Account::of(2);
        account.begin();
        account.credit(0, 7, 7, &thread(1, 100));
        account.credit(1, 8, 8, &thread(1, 40));
        account.finish(false);
        // The second group is first now, a new one is second, and the first is gone: its thread is in the new one.
        account.regroup(&[Some(1), None]);
        account.begin();
        account.credit(1, 7, 7, &thread(1, 105));
        account.credit(0, 8, 8, &thread(1, 41));
        account.credit(0, 9, 9, &thread(1, 7_000));
        let sums = account.finish(false).iter().map(|counts| counts.running_ns);
        assert_eq!(sums.collect::<Vec<_>>(), [Some(41), Some(5)]);
    }

    #[test]
    fn what_no_thread_counts_is_not_known() {
        let mut account = Account::of(2);
        scrape(&mut account, &[(8, 1, 100)], false);
        assert_eq!(account.groups[0].migrations, None);
        assert_eq!(account.groups[1], Counts::default());
    }
}

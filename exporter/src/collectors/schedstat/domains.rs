//! Scheduling domains, summed over CPUs.

use std::collections::BTreeMap;

use toolkit::metric::{Metric, Sink};

use super::file::{Balance, Cpu, Domain};
use crate::wide::Wide;

pub(super) static BALANCES: Metric<3> = Metric::counter(
    "wakelag_sched_domain_balances_total",
    "Attempts to balance load in the domain, by what the CPU was doing.",
    &["domain", "name", "idle_type"],
);
pub(super) static BALANCE_FAILED: Metric<3> = Metric::counter(
    "wakelag_sched_domain_balance_failed_total",
    "Attempts to balance load that had tasks to move and moved none.",
    &["domain", "name", "idle_type"],
);
pub(super) static PULLED: Metric<3> = Metric::counter(
    "wakelag_sched_domain_pulled_total",
    "Tasks moved by balancing.",
    &["domain", "name", "idle_type"],
);
pub(super) static PULLED_HOT: Metric<3> = Metric::counter(
    "wakelag_sched_domain_pulled_hot_total",
    "Tasks moved by balancing although their cache was warm.",
    &["domain", "name", "idle_type"],
);
pub(super) static ACTIVE_BALANCES: Metric<2> = Metric::counter(
    "wakelag_sched_domain_active_balances_total",
    "Times a running task was to be pushed away.",
    &["domain", "name"],
);
pub(super) static WAKEUPS_REMOTE: Metric<2> = Metric::counter(
    "wakelag_sched_domain_wakeups_remote_total",
    "Tasks woken up that last ran on another CPU of the domain.",
    &["domain", "name"],
);
pub(super) static MOVES_AFFINE: Metric<2> = Metric::counter(
    "wakelag_sched_domain_moves_affine_total",
    "Tasks moved to the CPU that woke them up, for its cache.",
    &["domain", "name"],
);
pub(super) static MOVES_BALANCE: Metric<2> = Metric::counter(
    "wakelag_sched_domain_moves_balance_total",
    "Tasks moved at wake-up for balance.",
    &["domain", "name"],
);

const IDLE_TYPES: [&str; 3] = ["busy", "idle", "newly_idle"];

/// The counters of every domain of every CPU. Those of a CPU that went offline stay in the sums, which so never go back.
#[derive(Debug, Default)]
pub(super) struct Domains {
    by_cpu: BTreeMap<(u32, u32), Counts>,
    /// The sums of domains that got another name: a CPU whose sibling went offline has its first domain at MC, not SMT.
    renamed: BTreeMap<(u32, String), Sums>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    balance: [[u64; 4]; 3],
    moves: [u64; 4],
}

#[derive(Debug, Clone, Default)]
struct Counts {
    name: String,
    /// Attempts, failed, pulled and pulled hot, by idle type.
    balance: [[Wide; 4]; 3],
    /// Active balances, remote wake-ups, affine and balancing moves.
    moves: [Wide; 4],
}

impl Domains {
    /// Takes note of the domains of one CPU.
    pub(super) fn observe(&mut self, cpu: &Cpu) {
        for domain in &cpu.domains {
            let name = domain.name.as_deref().unwrap_or_default();
            let new = || Counts {
                name: name.to_owned(),
                ..Counts::default()
            };
            let key = (cpu.cpu, domain.domain);
            let counts = self.by_cpu.entry(key).or_insert_with(new);
            if counts.name != name {
                let old = std::mem::replace(counts, new());
                let sums = self.renamed.entry((domain.domain, old.name.clone()));
                sums.or_default().add(&old);
            }
            counts.observe(domain);
        }
    }

    /// Publishes the sums over CPUs.
    pub(super) fn emit(&self, out: &mut Sink) {
        let renamed = self.renamed.iter();
        let mut sums: BTreeMap<(u32, &str), Sums> = renamed
            .map(|((domain, name), sums)| ((*domain, name.as_str()), *sums))
            .collect();
        for ((_, domain), counts) in &self.by_cpu {
            let sums = sums.entry((*domain, &counts.name));
            sums.or_default().add(counts);
        }
        for ((domain, name), Sums { balance, moves }) in sums {
            let domain = domain.to_string();
            for (idle_type, balance) in IDLE_TYPES.iter().zip(balance) {
                let metrics = [&BALANCES, &BALANCE_FAILED, &PULLED, &PULLED_HOT];
                for (metric, count) in metrics.into_iter().zip(balance) {
                    out.put(metric, [&domain, name, idle_type], count as f64);
                }
            }
            let metrics = [
                &ACTIVE_BALANCES,
                &WAKEUPS_REMOTE,
                &MOVES_AFFINE,
                &MOVES_BALANCE,
            ];
            for (metric, count) in metrics.into_iter().zip(moves) {
                out.put(metric, [&domain, name], count as f64);
            }
        }
    }
}

impl Counts {
    fn observe(&mut self, domain: &Domain) {
        let types = [&domain.busy, &domain.idle, &domain.newly_idle];
        for (wide, balance) in self.balance.iter_mut().zip(types) {
            let &Balance {
                attempts,
                failed,
                pulled,
                pulled_hot,
                ..
            } = balance;
            advance(wide, [attempts, failed, pulled, pulled_hot]);
        }
        let moves = [
            domain.active_balances,
            domain.wakeups_remote,
            domain.moves_affine,
            domain.moves_balance,
        ];
        advance(&mut self.moves, moves);
    }
}

fn advance(wide: &mut [Wide; 4], now: [u64; 4]) {
    for (wide, now) in wide.iter_mut().zip(now) {
        wide.advance(now);
    }
}

impl Sums {
    fn add(&mut self, counts: &Counts) {
        let sums = self
            .balance
            .as_flattened_mut()
            .iter_mut()
            .chain(&mut self.moves);
        let counts = counts.balance.as_flattened().iter().chain(&counts.moves);
        for (sum, count) in sums.zip(counts) {
            *sum = sum.saturating_add(count.total());
        }
    }
}

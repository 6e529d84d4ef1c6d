//! `/proc/schedstat` as a value: what the scheduler counts per CPU and per scheduling domain.

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedstat {
    /// Format version. Of a version other than 15, 16 and 17 there are no domains.
    pub version: u64,
    /// Jiffies, of which the first are negative and shown as a number near 2^32.
    pub timestamp_jiffies: u64,
    /// The online CPUs, in the file's order.
    pub cpus: Vec<Cpu>,
}

/// One `cpu` line with the domains below it.
///
/// The kernel holds the five counts as `u32`, and without `kernel.sched_schedstats` they stay 0; the times and
/// `timeslices` always run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number of the CPU.
    pub cpu: u32,
    /// `yld_count`: calls of `sched_yield()`. Wraps at 2^32.
    pub yields: u64,
    /// `sched_count`: calls of `schedule()`. Wraps at 2^32.
    pub schedules: u64,
    /// `sched_goidle`: calls of `schedule()` that picked the idle task. Wraps at 2^32.
    pub schedules_idle: u64,
    /// `ttwu_count`: wake-ups made by this CPU. Wraps at 2^32.
    pub wakeups: u64,
    /// `ttwu_local`: those of a task on the same CPU. Wraps at 2^32.
    pub wakeups_local: u64,
    /// `rq_cpu_time`: time that tasks ran. Nanoseconds, whatever older documentation says.
    pub running_ns: u64,
    /// `run_delay`: time that tasks waited for the CPU. Nanoseconds.
    pub waiting_ns: u64,
    /// `pcount`: time slices run.
    pub timeslices: u64,
    /// Smallest domain first; an isolated CPU has none.
    pub domains: Vec<Domain>,
}

/// One `domain` line. All counters are `u32` in the kernel and wrap at 2^32.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Domain {
    /// Number of the level. Levels that hold nothing new are left out, so that it means different things on
    /// different machines.
    pub domain: u32,
    /// `SMT`, `MC`, `PKG`, ...; since version 17.
    pub name: Option<String>,
    /// Balancing by a CPU that has work.
    pub busy: Balance,
    /// Balancing by the tick of an idle CPU.
    pub idle: Balance,
    /// Balancing by a CPU that is about to go idle.
    pub newly_idle: Balance,
    /// `alb_count`: times the running task was to be pushed away.
    pub active_balances: u64,
    /// `alb_failed`: those that pushed nothing.
    pub active_balances_failed: u64,
    /// `alb_pushed`: those that pushed a task.
    pub active_balances_pushed: u64,
    /// `ttwu_wake_remote`: wake-ups of a task that last ran on another CPU of this domain.
    pub wakeups_remote: u64,
    /// `ttwu_move_affine`: those that moved the task to the waking CPU, for its cache.
    pub moves_affine: u64,
    /// `ttwu_move_balance`: those that moved the task for balance.
    pub moves_balance: u64,
}

/// What load balancing did in one domain for one idle type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Balance {
    /// `lb_count`: attempts.
    pub attempts: u64,
    /// `lb_balanced`: found nothing to do.
    pub balanced: u64,
    /// `lb_failed`: wanted to move tasks and moved none.
    pub failed: u64,
    /// `lb_imbalance`, in version 17 `lb_imbalance_load`: sum of the imbalances in load.
    pub imbalance_load: u64,
    /// `lb_imbalance_util`, `lb_imbalance_task`, `lb_imbalance_misfit`: since version 17, where an imbalance is of one
    /// of four kinds. Before, all kinds are in `imbalance_load`.
    pub imbalance_kinds: Option<ImbalanceKinds>,
    /// `lb_gained`: tasks pulled.
    pub pulled: u64,
    /// `lb_hot_gained`: those pulled although their cache was warm.
    pub pulled_hot: u64,
    /// `lb_nobusyq`: found a busiest group without a busiest queue.
    pub no_busy_queue: u64,
    /// `lb_nobusyg`: found no busiest group.
    pub no_busy_group: u64,
}

/// Sums of imbalances by what was out of balance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImbalanceKinds {
    /// In utilization.
    pub utilization: u64,
    /// In the number of tasks.
    pub tasks: u64,
    /// In tasks too big for their CPU.
    pub misfit: u64,
}

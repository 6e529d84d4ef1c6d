//! `/proc/schedstat` as a value: what the scheduler counts per CPU and per scheduling domain.
//!
//! | version | kernels read | order of the idle types | numbers of a domain |
//! |---|---|---|---|
//! | 15 | 5.10 to 6.8 | idle, busy, newly idle | mask + 3 x 8 + 12 |
//! | 16 | 6.12 | busy, idle, newly idle | mask + 3 x 8 + 12 |
//! | 17 | 6.14 to 7.2 | busy, idle, newly idle | name + mask + 3 x 11 + 12 |
//!
//! The cpu lines are the same in all three, so that a version to come still gives its cpu lines.

use crate::parse::{ParseError, digits as number};

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

/// How a version writes its domains.
#[derive(Clone, Copy)]
struct Layout {
    named: bool,
    /// Numbers an idle type.
    balance_numbers: usize,
    idle_first: bool,
}

impl Layout {
    fn of(version: u64) -> Option<Layout> {
        match version {
            15 => Some(Layout {
                named: false,
                balance_numbers: 8,
                idle_first: true,
            }),
            16 => Some(Layout {
                named: false,
                balance_numbers: 8,
                idle_first: false,
            }),
            17 => Some(Layout {
                named: true,
                balance_numbers: 11,
                idle_first: false,
            }),
            _ => None,
        }
    }
}

/// Newer ones give their cpu lines only.
pub const LAST_KNOWN_VERSION: u64 = 17;

/// Numbers after the three idle types.
const DOMAIN_TAIL: usize = 12;
const CPU_NUMBERS: usize = 9;

/// Reads `/proc/schedstat`.
///
/// Lines of an unknown kind are passed over. Columns behind the known ones are too, for a cpu line; on a domain line
/// they are an error, because columns are added in the middle there, and the version says how many there are.
///
/// # Errors
///
/// No version, a line cut short, or something other than a number that fits.
pub fn schedstat(text: &str) -> Result<Schedstat, ParseError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    let version = match lines.next() {
        Some((_, first)) => first
            .strip_prefix("version ")
            .ok_or_else(|| format!("{first:?} instead of the version"))
            .and_then(|version| number(version.trim_end()))
            .map_err(|problem| ParseError { line: 1, problem })?,
        None => {
            return Err(ParseError {
                line: 1,
                problem: "the file is empty".to_owned(),
            });
        }
    };
    // Version 14 (2.6) has other columns.
    if version < 15 {
        return Err(ParseError {
            line: 1,
            problem: format!("version {version}, older than 15"),
        });
    }
    let layout = Layout::of(version);
    let mut schedstat = Schedstat {
        version,
        timestamp_jiffies: 0,
        cpus: Vec::new(),
    };
    for (line, text) in lines {
        let at = |problem| ParseError { line, problem };
        let Some((kind, rest)) = text.split_once(' ') else {
            continue;
        };
        if kind == "timestamp" {
            schedstat.timestamp_jiffies = number(rest.trim_end()).map_err(at)?;
        } else if let Some(index) = index(kind, "cpu") {
            schedstat
                .cpus
                .push(cpu(index.map_err(at)?, rest).map_err(at)?);
        } else if let Some(index) = index(kind, "domain") {
            let Some(layout) = layout else { continue };
            let domain = domain(index.map_err(at)?, rest, layout).map_err(at)?;
            match schedstat.cpus.last_mut() {
                Some(cpu) => cpu.domains.push(domain),
                None => return Err(at("a domain before the first CPU".to_owned())),
            }
        }
    }
    Ok(schedstat)
}

/// The number in a word such as `cpu7`, if it is of that kind.
fn index(word: &str, kind: &str) -> Option<Result<u32, String>> {
    let digits = word.strip_prefix(kind)?;
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().map_err(|error| format!("{word:?}: {error}")))
}

fn cpu(cpu: u32, rest: &str) -> Result<Cpu, String> {
    let mut numbers = [0; CPU_NUMBERS];
    let mut words = rest.split_ascii_whitespace();
    for (found, slot) in numbers.iter_mut().enumerate() {
        let word = words
            .next()
            .ok_or_else(|| format!("{found} numbers for cpu{cpu} instead of {CPU_NUMBERS}"))?;
        *slot = number(word)?;
    }
    // The second is kept from the O(1) scheduler and always 0.
    let [
        yields,
        _,
        schedules,
        schedules_idle,
        wakeups,
        wakeups_local,
        running_ns,
        waiting_ns,
        timeslices,
    ] = numbers;
    Ok(Cpu {
        cpu,
        yields,
        schedules,
        schedules_idle,
        wakeups,
        wakeups_local,
        running_ns,
        waiting_ns,
        timeslices,
        domains: Vec::new(),
    })
}

fn domain(domain: u32, rest: &str, layout: Layout) -> Result<Domain, String> {
    let mut words = rest.split_ascii_whitespace();
    let name = if layout.named {
        Some(words.next().ok_or("a domain without a name")?.to_owned())
    } else {
        None
    };
    let mask = words.next().ok_or("a domain without a mask")?;
    if !mask
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b',')
    {
        return Err(format!("{mask:?} is not a mask of CPUs"));
    }
    let numbers = words.map(number).collect::<Result<Vec<u64>, String>>()?;
    let want = 3 * layout.balance_numbers + DOMAIN_TAIL;
    if numbers.len() != want {
        return Err(format!(
            "{} numbers for domain{domain} instead of {want}",
            numbers.len()
        ));
    }
    let (types, tail) = numbers.split_at(3 * layout.balance_numbers);
    let mut types = types.chunks_exact(layout.balance_numbers).map(balance);
    let (Some(first), Some(second), Some(newly_idle)) = (types.next(), types.next(), types.next())
    else {
        return Err("fewer than three idle types".to_owned());
    };
    let (idle, busy) = if layout.idle_first {
        (first, second)
    } else {
        (second, first)
    };
    // In the middle are six for balancing at exec and fork that no code counts.
    let &[
        alb_count,
        alb_failed,
        alb_pushed,
        _,
        _,
        _,
        _,
        _,
        _,
        wake_remote,
        move_affine,
        move_balance,
    ] = tail
    else {
        return Err(format!(
            "{} numbers behind the idle types instead of {DOMAIN_TAIL}",
            tail.len()
        ));
    };
    Ok(Domain {
        domain,
        name,
        busy: busy?,
        idle: idle?,
        newly_idle: newly_idle?,
        active_balances: alb_count,
        active_balances_failed: alb_failed,
        active_balances_pushed: alb_pushed,
        wakeups_remote: wake_remote,
        moves_affine: move_affine,
        moves_balance: move_balance,
    })
}

fn balance(numbers: &[u64]) -> Result<Balance, String> {
    let (first, kinds, last) = match *numbers {
        [
            count,
            balanced,
            failed,
            imbalance,
            gained,
            hot,
            queue,
            group,
        ] => (
            [count, balanced, failed, imbalance],
            None,
            [gained, hot, queue, group],
        ),
        [
            count,
            balanced,
            failed,
            load,
            utilization,
            tasks,
            misfit,
            gained,
            hot,
            queue,
            group,
        ] => {
            let kinds = ImbalanceKinds {
                utilization,
                tasks,
                misfit,
            };
            (
                [count, balanced, failed, load],
                Some(kinds),
                [gained, hot, queue, group],
            )
        }
        _ => return Err(format!("{} numbers for an idle type", numbers.len())),
    };
    let [attempts, balanced, failed, imbalance_load] = first;
    let [pulled, pulled_hot, no_busy_queue, no_busy_group] = last;
    Ok(Balance {
        attempts,
        balanced,
        failed,
        imbalance_load,
        imbalance_kinds: kinds,
        pulled,
        pulled_hot,
        no_busy_queue,
        no_busy_group,
    })
}

#[cfg(test)]
mod tests;

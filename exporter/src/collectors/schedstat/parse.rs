//! `/proc/schedstat` from text, in each of its versions.
//!
//! | version | kernels read | order of the idle types | numbers of a domain |
//! |---|---|---|---|
//! | 15 | 5.10 to 6.8 | idle, busy, newly idle | mask + 3 x 8 + 12 |
//! | 16 | 6.12 | busy, idle, newly idle | mask + 3 x 8 + 12 |
//! | 17 | 6.14 to 7.2 | busy, idle, newly idle | name + mask + 3 x 11 + 12 |
//!
//! The cpu lines are the same in all three, so that a version to come still gives its cpu lines.

use super::file::{Balance, Cpu, Domain, ImbalanceKinds, Schedstat};
use crate::parse::{self, ParseError, digits as number};

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
/// Numbers of a domain in the version that has the most.
const MAX_DOMAIN_NUMBERS: usize = 3 * 11 + DOMAIN_TAIL;
const CPU_NUMBERS: usize = 9;

/// Reads `/proc/schedstat`.
///
/// Lines of an unknown kind are passed over. Columns behind the known ones are too, for a cpu line; on a domain line
/// they are an error, because columns are added in the middle there, and the version says how many there are.
///
/// # Errors
///
/// No version, a line cut short, something other than a number that fits, or CPUs out of order.
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
            let cpu = cpu(index.map_err(at)?, rest).map_err(at)?;
            if schedstat
                .cpus
                .last()
                .is_some_and(|last| last.cpu >= cpu.cpu)
            {
                return Err(at(format!("{kind} is out of order")));
            }
            schedstat.cpus.push(cpu);
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
    let mut found = parse::numbers(rest);
    for (index, slot) in numbers.iter_mut().enumerate() {
        *slot = found
            .next()
            .ok_or_else(|| format!("{index} numbers for cpu{cpu} instead of {CPU_NUMBERS}"))??;
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
    let (name, rest) = match layout.named {
        true => {
            let (name, rest) = rest.split_once(' ').ok_or("a domain without a name")?;
            (Some(name.to_owned()), rest)
        }
        false => (None, rest),
    };
    let (mask, rest) = rest.split_once(' ').ok_or("a domain without a mask")?;
    if !mask
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b',')
    {
        return Err(format!("{mask:?} is not a mask of CPUs"));
    }
    let want = 3 * layout.balance_numbers + DOMAIN_TAIL;
    let (mut numbers, mut found) = ([0; MAX_DOMAIN_NUMBERS], 0);
    for parsed in parse::numbers(rest) {
        let parsed = parsed?;
        if let Some(slot) = numbers.get_mut(found) {
            *slot = parsed;
        }
        found += 1;
    }
    if found != want {
        return Err(format!(
            "{found} numbers for domain{domain} instead of {want}"
        ));
    }
    let (types, tail) = numbers[..want].split_at(3 * layout.balance_numbers);
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

//! The CPUs of a host and the idle states each of them has, as far as they stay the same while a CPU is online.

use crate::parse::{self, ParseError};
use crate::root::{Dir, Error, Kept, Root};

/// The file that says which CPUs are online.
pub fn online_file(root: &Root) -> Kept {
    root.sys("devices/system/cpu/online")
}

/// One idle state of one CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Position in the kernel's table, from the shallowest.
    pub index: u32,
    /// As the driver calls it: `POLL`, `C1`, `C6`, `LPI-0`.
    pub name: String,
    /// Time to wake up from it, in microseconds, if it could be read.
    pub exit_latency_us: Option<u64>,
    /// Time it has to last to be worth entering, in microseconds, if it could be read.
    pub target_residency_us: Option<u64>,
    /// Whether the driver registered it switched off, where the kernel says so (since 5.6).
    pub default_disabled: Option<bool>,
}

/// The idle states of `cpu` with their directories, from the shallowest. Each CPU is asked: hybrid machines differ between CPUs.
///
/// # Errors
/// ENOENT where the CPU has no idle states: there is no driver, or it was never online.
pub fn idle_states(root: &Root, cpu: u32) -> Result<Vec<(IdleState, Dir)>, Error> {
    let base = format!("devices/system/cpu/cpu{cpu}/cpuidle");
    let mut states = Vec::new();
    for name in root.names(&base)? {
        let Some(index) = name.strip_prefix("state").and_then(|n| n.parse().ok()) else {
            continue;
        };
        let dir = format!("{base}/{name}");
        states.extend(root.tolerate(idle_state(root, index, dir)));
    }
    states.sort_by_key(|(state, _)| state.index);
    Ok(states)
}

fn idle_state(root: &Root, index: u32, dir: String) -> Result<(IdleState, Dir), Error> {
    let name = root.parse_once(root.sys(&format!("{dir}/name")), parse::word)?;
    let dir = Dir::list(root, dir)?;
    let number = |file| root.tolerate(root.parse_once(dir.file(root, file)?, parse::number));
    let default_status = |file| root.tolerate(root.parse_once(file, default_status));
    let state = IdleState {
        index,
        name,
        exit_latency_us: number("latency"),
        target_residency_us: number("residency"),
        default_disabled: dir.file(root, "default_status").and_then(default_status),
    };
    Ok((state, dir))
}

/// `default_status`: whether the state was registered switched off.
///
/// # Errors
/// Neither of the two words.
fn default_status(text: &str) -> Result<bool, ParseError> {
    match parse::word(text)?.as_str() {
        "enabled" => Ok(false),
        "disabled" => Ok(true),
        other => Err(ParseError::new(
            1,
            format!("{other:?} is neither enabled nor disabled"),
        )),
    }
}

/// A cpufreq policy: the CPUs that change frequency together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Directory below sysfs.
    pub dir: String,
    /// The online CPUs of it.
    pub cpus: Vec<u32>,
}

/// The cpufreq policies that have an online CPU.
///
/// # Errors
/// ENOENT where the kernel has no cpufreq.
pub fn policies(root: &Root) -> Result<Vec<Policy>, Error> {
    let base = "devices/system/cpu/cpufreq";
    let mut policies = Vec::new();
    for name in root.names(base)? {
        if !name.starts_with("policy") {
            continue;
        }
        let dir = format!("{base}/{name}");
        let affected = root.sys(&format!("{dir}/affected_cpus"));
        // A policy whose CPUs are all offline answers EBUSY to every read, or has an empty list on older kernels.
        match root.parse_once(affected, numbers) {
            Ok(cpus) if !cpus.is_empty() => policies.push(Policy { dir, cpus }),
            Err(error) if error.errno() != Some(nix::errno::Errno::EBUSY) => {
                root.tolerate::<()>(Err(error));
            }
            _ => {}
        }
    }
    policies.sort_by_key(|policy| policy.cpus.first().copied());
    Ok(policies)
}

/// CPU numbers with blanks between, as in `affected_cpus`.
fn numbers(text: &str) -> Result<Vec<u32>, ParseError> {
    let mut cpus = Vec::new();
    for field in text.split_whitespace() {
        let cpu = parse::field(1, field)?;
        let cpu = u32::try_from(cpu);
        cpus.push(cpu.map_err(|error| ParseError::new(1, error.to_string()))?);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_on_or_off_by_default_and_nothing_else() {
        assert_eq!(default_status("enabled\n"), Ok(false));
        assert_eq!(default_status("disabled\n"), Ok(true));
        for bad in ["", "\n", "0\n", "enabled disabled\n"] {
            assert!(default_status(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn cpus_of_a_policy_are_numbers_with_blanks_between() {
        assert_eq!(numbers("0 1 63\n"), Ok(vec![0, 1, 63]));
        assert_eq!(numbers("\n"), Ok(vec![]));
        for bad in ["0-3\n", "0,1\n", "4294967296\n", "x\n"] {
            assert!(numbers(bad).is_err(), "{bad:?}");
        }
    }
}

//! Takes away from the process what it will not need again: no new privileges, and by Landlock no file but those it is
//! to read, no new listening socket and no connection to elsewhere.
//!
//! Kernel: Landlock since 5.13, its network rules since 6.7; `Documentation/userspace-api/landlock.rst`. An older
//! kernel, or one without Landlock, enforces what it can. What is open already stays usable. The restriction is one of
//! the calling thread and of those it starts, so it comes before any other thread.
//!
//! A process under Landlock may not look into others by what needs the right to trace them. Nothing read here does,
//! but where procfs is mounted with `hidepid`, other processes are hidden from it.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, path_beneath_rules,
};

/// The newest rules that are asked for.
const WANTED: ABI = ABI::V5;

/// Restricts this thread, and those it starts from now on, to reading what is beneath `readable`; what of that does not
/// exist is left out. Says in one line of the log what the kernel took.
pub fn enter<'p>(readable: impl IntoIterator<Item = &'p Path>) {
    match restrict(readable) {
        Ok(RulesetStatus::FullyEnforced) => {
            tracing::info!("sandbox entered: only kernel files can be read");
        }
        Ok(RulesetStatus::PartiallyEnforced) => {
            tracing::info!("sandbox entered, as far as this kernel knows the rules");
        }
        Ok(RulesetStatus::NotEnforced) => {
            tracing::warn!("no sandbox: this kernel has no Landlock, or has it switched off");
        }
        Err(error) => tracing::warn!(%error, "no sandbox"),
    }
}

fn restrict<'p>(
    readable: impl IntoIterator<Item = &'p Path>,
) -> Result<RulesetStatus, RulesetError> {
    let rules = path_beneath_rules(readable, AccessFs::ReadFile | AccessFs::ReadDir);
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .create()?
        .add_rules(rules)?
        .restrict_self()?;
    Ok(status.ruleset)
}

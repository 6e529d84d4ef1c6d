//! What is settled at boot: arguments of the kernel, mitigations, and what a kernel says of its preemption.

use crate::parse::ParseError;
use crate::root::{Error, Root, absent};

/// Arguments that settings come from. Nothing else of the command line is published: it can hold secrets, and the
/// identifiers of disks. A name that ends in a dot stands for all parameters of a module.
const ALLOWED: [&str; 16] = [
    "amd_pstate",
    "cpufreq.default_governor",
    "cpuidle.",
    "idle",
    "intel_idle.",
    "intel_pstate",
    "isolcpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "nosmt",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "skew_tick",
    "tsc",
];
/// The files of these stay in place and say nothing of a mitigation.
const NO_MITIGATIONS: [&str; 1] = ["old_microcode"];

/// What is settled at boot.
#[derive(Debug, Clone, Default)]
pub(super) struct Boot {
    pub(super) cmdline: Option<String>,
    pub(super) mitigations: Option<&'static str>,
    /// What `/proc/version` and the command line say; debugfs knows better.
    pub(super) preempt: Option<String>,
}

impl Boot {
    /// Reads it. Mitigations change with SMT too: ask again when CPUs have come or gone.
    pub(super) fn read(root: &Root) -> Self {
        let cmdline = root.parse_once(root.proc("cmdline"), cmdline);
        let arguments = root.optional(cmdline);
        let built = root.parse_once(root.proc("version"), built_preemption);
        let asked = arguments.iter().flatten().rev();
        let asked = asked
            .filter_map(|argument| argument.strip_prefix("preempt="))
            .next();
        let preempt = match root.optional(built).flatten() {
            Some("dynamic") => asked.or(Some("dynamic")),
            built => built,
        };
        Boot {
            preempt: preempt.map(str::to_owned),
            cmdline: arguments.map(|arguments| match arguments.is_empty() {
                true => "none".to_owned(),
                false => arguments.join(" "),
            }),
            mitigations: root.optional(mitigations(root)).flatten(),
        }
    }
}

/// `/proc/cmdline`: the allowed arguments in their order, each with the name as the documentation has it. Quotes hold
/// blanks together, and what comes after `--` is for init.
fn cmdline(text: &str) -> Result<Vec<String>, ParseError> {
    let mut quoted = false;
    let blank = |c: char| {
        quoted ^= c == '"';
        c.is_ascii_whitespace() && !quoted
    };
    let arguments = text.trim().split(blank).filter(|word| !word.is_empty());
    Ok(arguments
        .take_while(|argument| *argument != "--")
        .filter_map(allowed)
        .collect())
}

fn allowed(argument: &str) -> Option<String> {
    let (name, value) = match argument.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (argument, None),
    };
    // The kernel takes dashes and underscores in names for the same.
    let name = name.replace('-', "_");
    let fits = |allowed: &str| match allowed.strip_suffix('.') {
        Some(_) => name.starts_with(allowed),
        None => name == *allowed,
    };
    ALLOWED.into_iter().any(fits).then(|| match value {
        Some(value) => format!("{name}={}", value.replace('"', "")),
        None => name.clone(),
    })
}

/// `/proc/version`: how the kernel was built to preempt; nothing for a kernel that is `none` or `voluntary`, which say
/// the same there.
fn built_preemption(text: &str) -> Result<Option<&'static str>, ParseError> {
    let built = text.split_ascii_whitespace().find_map(|word| match word {
        "PREEMPT_RT" => Some("rt"),
        "PREEMPT_DYNAMIC" => Some("dynamic"),
        "PREEMPT_LAZY" => Some("lazy"),
        "PREEMPT" => Some("full"),
        _ => None,
    });
    Ok(built)
}

/// `cpu/vulnerabilities/*`: whether what there is, is mitigated.
fn mitigations(root: &Root) -> Result<Option<&'static str>, Error> {
    let dir = "devices/system/cpu/vulnerabilities";
    let (mut vulnerable, mut mitigated, mut unaffected) = (false, false, false);
    for name in root.names(dir)? {
        if NO_MITIGATIONS.contains(&&*name) {
            continue;
        }
        let file = root.sys(&format!("{dir}/{name}"));
        match root.parse_once(file, standing) {
            Ok(Standing::Vulnerable) => vulnerable = true,
            Ok(Standing::Mitigated) => mitigated = true,
            Ok(Standing::Unaffected) => unaffected = true,
            Ok(Standing::Unknown) => {}
            Err(error) if error.errno().is_some_and(absent) => {}
            // What is left might read as all there is.
            Err(error) => return Err(error),
        }
    }
    Ok(match (vulnerable, mitigated) {
        (true, true) => Some("partial"),
        (true, false) => Some("off"),
        (false, true) => Some("on"),
        (false, false) => unaffected.then_some("unaffected"),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unaffected,
    Mitigated,
    Vulnerable,
    Unknown,
}

/// A file of `cpu/vulnerabilities`: `Not affected`, `Vulnerable…`, `Mitigation: …`, `Unknown: …`, with `KVM: ` in front
/// where it is about guests.
fn standing(text: &str) -> Result<Standing, ParseError> {
    let text = text.trim();
    let text = text.strip_prefix("KVM: ").unwrap_or(text);
    let standing = [
        ("Not affected", Standing::Unaffected),
        ("Mitigation", Standing::Mitigated),
        ("Vulnerable", Standing::Vulnerable),
        ("Processor vulnerable", Standing::Vulnerable),
        ("Unknown: No mitigations", Standing::Vulnerable),
        ("Unknown", Standing::Unknown),
    ];
    let found = standing.iter().find(|(start, _)| text.starts_with(start));
    found
        .map(|(_, standing)| *standing)
        .ok_or_else(|| ParseError::new(1, format!("{text:?} is no state of a vulnerability")))
}

#[cfg(test)]
mod tests;

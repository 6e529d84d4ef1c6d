//! Energy preferences that only the CPU itself knows: asked seldom, and only where `--collector.epp` says so.
//!
//! Where the kernel does not keep `energy_performance_preference` in memory, reading it interrupts the CPU, and reading
//! `energy_perf_bias` always does. So one CPU of each policy is asked at the start, after each interval, and when something
//! has changed that costs nothing to see and moves the preference too: governor, driver, its mode, boost, CPUs online.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::chosen::{Count, Values};
use crate::cpus::Policy;
use crate::parse::{self, ParseError};
use crate::root::{Dir, Error, Kept, Root};

/// What is said of a preference that was left alone.
const LEFT_ALONE: &str =
    "reading it interrupts the CPU (cost class C); --collector.epp has it read now and then";
const DEFAULT_INTERVAL: Duration = Duration::from_secs(600);

/// `--collector.epp*`.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Collectors")]
pub(super) struct Flags {
    /// Energy preferences that are not in the kernel's memory: settings epp (Intel, and AMD before Linux 6.14) and epb,
    /// and the profile's epp. They are read at the start, when governor, driver, boost or the CPUs online change, and after
    /// each interval; on one CPU of each policy [cost class C, default off].
    #[arg(id = "collector.epp", long = "collector.epp")]
    on: bool,

    /// How often they are read although nothing else has changed. A preference that is changed alone is seen this late, and
    /// until then time, energy and queries are booked under the one before.
    #[arg(
        id = "collector.epp.interval",
        long = "collector.epp.interval",
        value_name = "SECONDS",
        default_value = "600",
        requires = "collector.epp",
        value_parser = clap::builder::ValueParser::new(crate::args::seconds)
    )]
    interval: Duration,

    /// Ask isolated CPUs and those without a tick too.
    #[arg(
        id = "collector.epp.isolated",
        long = "collector.epp.isolated",
        requires = "collector.epp"
    )]
    isolated: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            on: false,
            interval: DEFAULT_INTERVAL,
            isolated: false,
        }
    }
}

/// The files of one policy that interrupt its CPU.
#[derive(Debug)]
pub(super) struct Files {
    policy: Vec<u32>,
    count: Count,
    epp: Option<Kept>,
    epb: Option<Kept>,
}

impl Files {
    /// The files of `policy`, of which `epp` is one if reading it is not free; nothing where there is none.
    pub(super) fn scan(
        root: &Root,
        policy: &Policy,
        count: Count,
        epp: Option<Kept>,
    ) -> Option<Self> {
        let first = policy.cpus.first()?;
        let power = Dir::list(root, format!("devices/system/cpu/cpu{first}/power"));
        let epb = root.optional(power);
        let epb = epb.and_then(|dir| dir.file(root, "energy_perf_bias"));
        (epp.is_some() || epb.is_some()).then(|| Files {
            policy: policy.cpus.clone(),
            count,
            epp,
            epb,
        })
    }
}

/// What the CPU of a policy said when it was last asked.
#[derive(Debug, Default)]
struct Answer {
    epp: Option<Result<String, Error>>,
    epb: Option<Result<String, Error>>,
}

/// What is known without asking, and moves what is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signs {
    pub(super) online: Vec<u32>,
    pub(super) governor: Values,
    pub(super) driver: Values,
    pub(super) boost: Values,
    pub(super) intel_pstate: Option<String>,
    pub(super) amd_pstate: Option<String>,
}

/// The preferences of all policies as they were last read.
#[derive(Debug, Default)]
pub(super) struct Preferences {
    asked: Option<(Instant, Signs)>,
    /// By the first CPU of the policy.
    answers: BTreeMap<u32, Answer>,
}

impl Preferences {
    /// Adds what is known to `epp`; what there is of `epb`. CPUs are asked if the `signs` have changed or the interval is
    /// over, and otherwise not.
    pub(super) fn read(
        &mut self,
        root: &Root,
        flags: &Flags,
        files: &mut [Files],
        signs: impl FnOnce() -> Signs,
        epp: &mut Values,
    ) -> Values {
        let mut epb = Values::default();
        if !flags.on {
            let first = files.iter().find_map(|f| f.epp.as_ref().or(f.epb.as_ref()));
            if let Some(file) = first {
                root.forgo(format!("{}: {LEFT_ALONE}", file.path().display()));
            }
            return epb;
        }
        let (now, signs) = (Instant::now(), signs());
        let is_known = self.asked.as_ref().is_some_and(|(at, before)| {
            *before == signs && now.duration_since(*at) < flags.interval
        });
        if !is_known {
            self.answers = ask(root, flags, files);
            self.asked = Some((now, signs));
        }
        for policy in files {
            let first = policy.policy.first();
            let Some(answer) = first.and_then(|cpu| self.answers.get(cpu)) else {
                continue;
            };
            // An error stands until the CPU is asked again.
            let known = |answer: &Option<Result<String, Error>>| root.optional(answer.clone()?);
            if let Some(value) = known(&answer.epp) {
                epp.add(&value, &policy.count);
            }
            if let Some(value) = known(&answer.epb) {
                epb.add(&value, &policy.count);
            }
        }
        epb
    }
}

fn ask(root: &Root, flags: &Flags, files: &mut [Files]) -> BTreeMap<u32, Answer> {
    let Some(undisturbed) = undisturbed(root, flags) else {
        return BTreeMap::new();
    };
    let mut answers = BTreeMap::new();
    for policy in files {
        // The kernel asks whichever CPU of the policy it likes.
        let Some(first) = policy.policy.first().copied() else {
            continue;
        };
        if policy.policy.iter().any(|cpu| undisturbed.contains(cpu)) {
            continue;
        }
        let epp = policy.epp.as_mut();
        let epb = policy.epb.as_mut();
        answers.insert(
            first,
            Answer {
                epp: epp.map(|file| root.parse(file, parse::word)),
                epb: epb.map(|file| root.parse(file, bias)),
            },
        );
    }
    answers
}

/// The CPUs that are not to be asked; nothing where that cannot be known, and then none is asked.
fn undisturbed(root: &Root, flags: &Flags) -> Option<Vec<u32>> {
    let mut undisturbed = Vec::new();
    if flags.isolated {
        return Some(undisturbed);
    }
    for file in ["isolated", "nohz_full"] {
        let list = root.sys(&format!("devices/system/cpu/{file}"));
        match root.parse_once(list, parse::cpu_list) {
            Ok(cpus) => undisturbed.extend(cpus),
            Err(error) if error.errno().is_some_and(crate::root::absent) => {}
            Err(error) => {
                root.tolerate::<()>(Err(error));
                return None;
            }
        }
    }
    Some(undisturbed)
}

/// `cpuN/power/energy_perf_bias`: 0 to 15, of which the kernel has names for some (arch/x86/kernel/cpu/intel_epb.c).
fn bias(text: &str) -> Result<String, ParseError> {
    let name = match parse::number(text)? {
        0 => "performance",
        4 => "balance-performance",
        6 => "normal",
        7 => "normal-powersave",
        8 => "balance-power",
        15 => "power",
        other @ 0..=15 => return Ok(other.to_string()),
        other => return Err(ParseError::new(1, format!("{other} is above 15"))),
    };
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.12, Ice Lake.
    #[test]
    fn a_bias_has_a_name_or_stays_a_number() {
        assert_eq!(bias("6\n").as_deref(), Ok("normal"));
        assert_eq!(bias("0\n").as_deref(), Ok("performance"));
        assert_eq!(bias("5\n").as_deref(), Ok("5"));
        for bad in [
            "",
            "16\n",
            "-1\n",
            "6 6\n",
            "normal\n",
            "18446744073709551616\n",
        ] {
            assert!(bias(bad).is_err(), "{bad:?}");
        }
    }
}

//! The files of one frequency policy.

use nix::errno::Errno;

use super::speed::Speed;
use super::{Reading, time_in_state};
use crate::cpus::Policy;
use crate::parse::{self, ParseError};
use crate::root::{Dir, Error, Kept, Root, absent};

/// The files of one policy that change, and what does not.
#[derive(Debug)]
pub(super) struct PolicyFiles {
    cpus: Vec<String>,
    min_khz: Option<u64>,
    /// Changes with boost.
    max: Option<Kept>,
    current: Option<Kept>,
    average: Option<Kept>,
    scaling_min: Option<Kept>,
    scaling_max: Option<Kept>,
    transitions: Option<Kept>,
    time_in_state: Option<Kept>,
    gone: bool,
}

impl PolicyFiles {
    /// Looks for the files of `policy`.
    ///
    /// # Errors
    /// The policy's directory cannot be read.
    pub(super) fn scan(root: &Root, policy: &Policy) -> Result<Self, Error> {
        let dir = Dir::list(root, policy.dir.clone())?;
        let file = |name: &str| dir.file(root, name);
        let min = file("cpuinfo_min_freq").map(|min| root.parse_once(min, khz));
        Ok(PolicyFiles {
            cpus: policy.cpus.iter().map(u32::to_string).collect(),
            min_khz: min.and_then(|min| root.tolerate(min)).flatten(),
            max: file("cpuinfo_max_freq"),
            current: file("scaling_cur_freq"),
            average: file("cpuinfo_avg_freq"),
            scaling_min: file("scaling_min_freq"),
            scaling_max: file("scaling_max_freq"),
            transitions: dir.file_in(root, "stats", "total_trans"),
            time_in_state: dir.file_in(root, "stats", "time_in_state"),
            gone: false,
        })
    }

    /// Whether a file went away: the policy has to be looked for again.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(super) fn read(&mut self, root: &Root, speed: &mut Speed) -> Reading {
        let gone = &mut self.gone;
        let mut read = |file: &mut Option<Kept>| {
            let khz = root.parse(file.as_mut()?, khz);
            *gone |= khz
                .as_ref()
                .is_err_and(|error: &Error| error.errno().is_some_and(absent));
            root.tolerate(khz).flatten()
        };
        let mut reading = Reading {
            cpus: self.cpus.clone(),
            min_khz: self.min_khz,
            max_khz: read(&mut self.max),
            scaling_min_khz: read(&mut self.scaling_min),
            scaling_max_khz: read(&mut self.scaling_max),
            ..Reading::default()
        };
        if speed.allows() && self.current.is_some() {
            reading.current_khz = speed.watch(|| read(&mut self.current));
        }
        if let Some(average) = &mut self.average {
            // An idle CPU has no average, and an arm64 kernel without activity monitors has none at all.
            let average = root.parse(average, khz);
            let none = |e: &Error| matches!(e.errno(), Some(Errno::EAGAIN | Errno::EINVAL));
            reading.average_khz = match average {
                Err(error) if none(&error) => None,
                other => root.optional(other).flatten(),
            };
        }
        if let Some(file) = &mut self.transitions {
            reading.transitions = root.optional(root.parse(file, parse::number));
        }
        if let Some(file) = &mut self.time_in_state {
            let times = root.optional(root.parse(file, time_in_state));
            reading.time_in_state = times.unwrap_or_default();
        }
        reading
    }
}

/// A frequency in kHz. Drivers that do not know it print `<unknown>` or `<unsupported>`.
fn khz(text: &str) -> Result<Option<u64>, ParseError> {
    if text.starts_with('<') {
        return Ok(None);
    }
    parse::number(text).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequency_may_be_unknown_but_not_broken() {
        assert_eq!(khz("3194823\n"), Ok(Some(3_194_823)));
        assert_eq!(khz("<unknown>\n"), Ok(None));
        assert_eq!(khz("<unsupported>\n"), Ok(None));
        assert!(khz("fast\n").is_err());
    }
}

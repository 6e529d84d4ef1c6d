//! How sysfs describes a PMU.

use nix::errno::Errno;

use crate::parse::{self, ParseError};
use crate::root::{Error, Root};

/// Where PMUs are in sysfs.
pub const DEVICES: &str = "bus/event_source/devices";

/// A PMU.
#[derive(Debug)]
pub struct Pmu {
    /// Its directory in sysfs.
    pub dir: String,
    /// Its number for perf_event_open(2).
    pub kind: u32,
    /// What it counts, by name.
    pub events: Vec<Event>,
}

/// Something a PMU counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The kernel's name, such as `energy-pkg`.
    pub name: String,
    /// Its number in the PMU.
    pub config: u64,
}

impl Pmu {
    /// The PMU called `name` with those of its events that are `wanted`.
    ///
    /// # Errors
    /// There is no such PMU (ENOENT), it has no such event (ENXIO), or it is described in a way that is not known here.
    pub fn find(root: &Root, name: &str, wanted: fn(&str) -> bool) -> Result<Self, Error> {
        let dir = format!("{DEVICES}/{name}");
        let file = |name: &str| root.sys(&format!("{dir}/{name}"));
        let kind = root.parse_once(file("type"), kind)?;
        let mut names = root.names(&format!("{dir}/events"))?;
        // Beside each event there are its .scale and .unit.
        names.retain(|name| wanted(name) && !name.contains('.'));
        if names.is_empty() {
            return Err(root.error(&dir, Errno::ENXIO));
        }
        root.parse_once(file("format/event"), event_bits)?;
        let event = |name: String| {
            let config = root.parse_once(file(&format!("events/{name}")), config)?;
            Ok(Event { name, config })
        };
        let events = names.into_iter().map(event).collect::<Result<_, _>>()?;
        Ok(Pmu { dir, kind, events })
    }
}

fn kind(text: &str) -> Result<u32, ParseError> {
    let number = parse::number(text)?;
    u32::try_from(number).map_err(|_| ParseError::new(1, format!("{number} is no type of a PMU")))
}

/// Where an event's number is: `config:0-7`, the lowest bits of the field config. Nothing else is understood.
fn event_bits(text: &str) -> Result<(), ParseError> {
    let bits = text.trim().strip_prefix("config:0-");
    match bits.is_some_and(|last| parse::digits(last).is_ok_and(|last| last < 64)) {
        true => Ok(()),
        false => Err(ParseError::new(
            1,
            format!("{:?} are not the lowest bits of config", text.trim()),
        )),
    }
}

/// The number of an event: `event=0x02`.
fn config(text: &str) -> Result<u64, ParseError> {
    let bad = || ParseError::new(1, format!("{:?} is no event=0xNN", text.trim()));
    let digits = text.trim().strip_prefix("event=0x").ok_or_else(bad)?;
    // from_str_radix would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad());
    }
    u64::from_str_radix(digits, 16).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, PMUs `power`, `cstate_pkg` and `msr`.
    #[test]
    fn events_as_the_kernel_describes_them() {
        assert_eq!(config("event=0x05\n"), Ok(5));
        assert_eq!(config("event=0x00\n"), Ok(0));
        assert_eq!(config("event=0xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(event_bits("config:0-7\n"), Ok(()));
        assert_eq!(event_bits("config:0-63\n"), Ok(()));
        assert_eq!(kind("9\n"), Ok(9));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for bad in [
            "",
            "event=",
            "event=0x",
            "event=5\n",
            "event=0x+5",
            "event=0x02,umask=0x01\n",
            "event=0x10000000000000000\n",
        ] {
            assert!(config(bad).is_err(), "{bad:?}");
        }
        for bad in [
            "",
            "config:0",
            "config:8-15",
            "config1:0-7",
            "config:0-64",
            "config:0-7,32",
        ] {
            assert!(event_bits(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "4294967296\n", "-1\n"] {
            assert!(kind(bad).is_err(), "{bad:?}");
        }
    }
}

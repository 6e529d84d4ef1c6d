//! Power limits of a zone: what it may draw, averaged over which time, and whether that is in force.
//!
//! Each file is a wake-up of the MSR driver, so they are read once, when the zone is found, and never in a later scrape:
//! a package with DRAM costs eight wake-ups in the life of the exporter, as many as four scrapes of its energy. That is a
//! price for knowing that a host is capped, and what it is capped at changes by the hand of an administrator.

use nix::errno::Errno;
use toolkit::metric::{Metric, Sink};

use super::Labels;
use crate::parse;
use crate::root::{Dir, Error, Root};

pub(super) static LIMIT: Metric<6> = Metric::gauge(
    "wakelag_rapl_power_limit_watts",
    "Power limit of the RAPL zone when it was found; a limit of 0 is none and has no series.",
    &[
        "control_type",
        "zone",
        "name",
        "package",
        "die",
        "constraint",
    ],
);
pub(super) static WINDOW: Metric<6> = Metric::gauge(
    "wakelag_rapl_time_window_seconds",
    "Time over which the power limit of the RAPL zone is averaged, when the zone was found.",
    &[
        "control_type",
        "zone",
        "name",
        "package",
        "die",
        "constraint",
    ],
);
pub(super) static ENABLED: Metric<5> = Metric::gauge(
    "wakelag_rapl_zone_enabled",
    "Whether the power limits of the RAPL zone were in force when it was found.",
    &["control_type", "zone", "name", "package", "die"],
);

/// Intel has three: long_term, short_term and peak_power.
const MAX_CONSTRAINTS: usize = 8;

/// The limits of one zone.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    enabled: Option<bool>,
    constraints: Vec<Constraint>,
    /// What could not be read.
    errors: Vec<Error>,
}

#[derive(Debug, Clone)]
struct Constraint {
    name: String,
    limit_uw: Option<u64>,
    window_us: Option<u64>,
}

impl Limits {
    /// Reads the limits of the zone in `dir`. AMD has none, and no driver has all files of all constraints.
    pub(super) fn read(root: &Root, dir: &Dir) -> Self {
        let mut limits = Limits::default();
        if !(0..MAX_CONSTRAINTS).any(|k| dir.has(&format!("constraint_{k}_name"))) {
            return limits;
        }
        let enabled = dir.file(root, "enabled");
        limits.enabled = enabled.and_then(|file| limits.keep(root.parse_once(file, parse::switch)));
        for k in 0..MAX_CONSTRAINTS {
            let name = dir.file(root, &format!("constraint_{k}_name"));
            let Some(name) = name.and_then(|file| limits.keep(root.parse_once(file, parse::word)))
            else {
                continue;
            };
            let mut number = |what: &str| {
                let file = dir.file(root, &format!("constraint_{k}_{what}"))?;
                limits.keep(root.parse_once(file, parse::number))
            };
            let constraint = Constraint {
                name,
                limit_uw: number("power_limit_uw"),
                window_us: number("time_window_us"),
            };
            limits.constraints.push(constraint);
        }
        limits
    }

    /// powercap answers EINVAL for all that a driver has no answer to, such as the window of a peak.
    fn keep<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let none = matches!(error.errno(), Some(Errno::EINVAL | Errno::ENODATA));
                self.errors.extend((!none).then_some(error));
                None
            }
        }
    }

    /// Says again what could not be read, for it is missing in this scrape too.
    pub(super) fn complain(&self, root: &Root) {
        for error in &self.errors {
            root.permitted::<()>(Err(error.clone()));
        }
    }

    pub(super) fn emit(&self, labels: &Labels, out: &mut Sink) {
        let zone = labels.each_ref().map(String::as_str);
        if let Some(enabled) = self.enabled {
            out.put(&ENABLED, zone, f64::from(u8::from(enabled)));
        }
        for constraint in &self.constraints {
            let [control_type, zone, name, package, die] = zone;
            let labels = [control_type, zone, name, package, die, &constraint.name];
            let Some(limit_uw) = constraint.limit_uw.filter(|uw| *uw > 0) else {
                continue;
            };
            out.put(&LIMIT, labels, limit_uw as f64 / 1e6);
            if let Some(window_us) = constraint.window_us {
                out.put(&WINDOW, labels, window_us as f64 / 1e6);
            }
        }
    }
}

//! Time tasks waited for CPU, memory, IO and interrupts.
//!
//! Source: `/proc/pressure/{cpu,memory,io,irq}`, `total=` in microseconds.
//! Kernel: 4.20, `irq` 6.1; Documentation/accounting/psi.rst.
//! Absent: a kernel without CONFIG_PSI, or booted with `psi=0`: no directory, or EOPNOTSUPP.
//! Denied: nothing; all of it is world-readable.
//! Cost: B, sums over CPUs.

use toolkit::metric::{Metric, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Root, absent};

static CPU_WAITING: Metric<0> = Metric::counter(
    "wakelag_pressure_cpu_waiting_seconds_total",
    "Time in which at least one task waited for a CPU.",
    &[],
);
static MEMORY_WAITING: Metric<0> = Metric::counter(
    "wakelag_pressure_memory_waiting_seconds_total",
    "Time in which at least one task waited for memory.",
    &[],
);
static MEMORY_STALLED: Metric<0> = Metric::counter(
    "wakelag_pressure_memory_stalled_seconds_total",
    "Time in which no task could run for want of memory.",
    &[],
);
static IO_WAITING: Metric<0> = Metric::counter(
    "wakelag_pressure_io_waiting_seconds_total",
    "Time in which at least one task waited for IO.",
    &[],
);
static IO_STALLED: Metric<0> = Metric::counter(
    "wakelag_pressure_io_stalled_seconds_total",
    "Time in which no task could run for want of IO.",
    &[],
);
static IRQ_STALLED: Metric<0> = Metric::counter(
    "wakelag_pressure_irq_stalled_seconds_total",
    "Time in which interrupts kept tasks from running.",
    &[],
);

/// File, and what its lines `some` and `full` are published as. For the whole host the kernel defines `full` of the CPU
/// as 0.
static RESOURCES: [Resource; 4] = [
    ("pressure/cpu", Some(&CPU_WAITING), None),
    (
        "pressure/memory",
        Some(&MEMORY_WAITING),
        Some(&MEMORY_STALLED),
    ),
    ("pressure/io", Some(&IO_WAITING), Some(&IO_STALLED)),
    ("pressure/irq", None, Some(&IRQ_STALLED)),
];

type Resource = (
    &'static str,
    Option<&'static Metric<0>>,
    Option<&'static Metric<0>>,
);

/// Pressure collector.
#[derive(Debug, Default)]
pub struct Pressure {
    files: Vec<Kept>,
}

/// Microseconds by line of one resource.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    some_us: Option<u64>,
    full_us: Option<u64>,
}

impl Collector for Pressure {
    type Reading = Vec<Option<Stalls>>;
    const INFO: &'static Info = &Info {
        name: "pressure",
        about: "time waited for CPU, memory, IO and interrupts (/proc/pressure)",
        default_on: true,
        cost: Cost::B,
        metrics: &[
            CPU_WAITING.desc(),
            MEMORY_WAITING.desc(),
            MEMORY_STALLED.desc(),
            IO_WAITING.desc(),
            IO_STALLED.desc(),
            IRQ_STALLED.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        if self.files.is_empty() {
            self.files = RESOURCES.iter().map(|(file, ..)| root.proc(file)).collect();
        }
        let results: Vec<_> = self
            .files
            .iter_mut()
            .map(|file| root.parse(file, pressure))
            .collect();
        let no_psi = |result: &Result<_, Error>| {
            let errno = result.as_ref().err().and_then(Error::errno);
            errno.is_some_and(absent)
        };
        if results.iter().all(no_psi) {
            return results.into_iter().map(|result| result.map(Some)).collect();
        }
        Ok(results.into_iter().map(|r| root.optional(r)).collect())
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for ((_, some, full), stalls) in RESOURCES.iter().zip(reading) {
            let stalls = stalls.unwrap_or_default();
            for (metric, us) in [(some, stalls.some_us), (full, stalls.full_us)] {
                if let (Some(metric), Some(us)) = (metric, us) {
                    out.put(metric, [], us as f64 / 1e6);
                }
            }
        }
    }
}

/// `/proc/pressure/*`: `some avg10=0.00 avg60=0.00 avg300=0.00 total=123` and the same for `full`, either of which may
/// be missing.
///
/// # Errors
/// A line without a total, or a file without both.
pub fn pressure(text: &str) -> Result<Stalls, ParseError> {
    let mut stalls = Stalls::default();
    for (line, content) in (1..).zip(text.lines()) {
        let total = content
            .split_whitespace()
            .find_map(|field| field.strip_prefix("total="))
            .ok_or_else(|| ParseError::new(line, "no total="));
        match content.split_whitespace().next() {
            Some("some") => stalls.some_us = Some(parse::field(line, total?)?),
            Some("full") => stalls.full_us = Some(parse::field(line, total?)?),
            _ => {}
        }
    }
    if stalls == Stalls::default() {
        return Err(ParseError::new(1, "neither some nor full"));
    }
    Ok(stalls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls(some_us: Option<u64>, full_us: Option<u64>) -> Result<Stalls, ParseError> {
        Ok(Stalls { some_us, full_us })
    }

    /// Linux 6.18.
    #[test]
    fn some_and_full() {
        let text = "some avg10=0.00 avg60=0.12 avg300=0.06 total=4187\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3051\n";
        assert_eq!(pressure(text), stalls(Some(4187), Some(3051)));
    }

    /// `cpu` before Linux 5.13, and `irq` since 6.1.
    #[test]
    fn one_line_may_be_missing() {
        let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=99\n";
        assert_eq!(pressure(some), stalls(Some(99), None));
        let full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n";
        assert_eq!(pressure(full), stalls(None, Some(u64::MAX)));
    }

    #[test]
    fn an_unknown_line_is_passed_over_and_a_broken_one_is_not() {
        assert_eq!(
            pressure("most total=1\nsome total=2\n"),
            stalls(Some(2), None)
        );
        for bad in [
            "",
            "some avg10=0.00",
            "some total=",
            "some total=-1",
            "full total=1e9",
        ] {
            assert!(pressure(bad).is_err(), "{bad}");
        }
    }
}

//! What CPUs do with their time, interrupts, context switches and the tasks that run or wait.
//!
//! Source: `/proc/stat`, times in ticks of 1/100 s.
//! Kernel: all; Documentation/filesystems/proc.rst.
//! Absent: procfs mounted with `subset=pid`.
//! Denied: nothing; it is world-readable.
//! Cost: B, grows with CPUs and interrupts.

use toolkit::metric::{Metric, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::parse::{self, ParseError};
use crate::root::{Error, Kept, Root};

static CPU_SECONDS: Metric<2> = Metric::counter(
    "wakelag_cpu_seconds_total",
    "Time the CPU spent in each mode; guest time is also in user, guest_nice also in nice.",
    &["cpu", "mode"],
);
static CONTEXT_SWITCHES: Metric<0> = Metric::counter(
    "wakelag_context_switches_total",
    "Context switches of all CPUs.",
    &[],
);
static INTERRUPTS: Metric<0> = Metric::counter(
    "wakelag_interrupts_total",
    "Interrupts of all kinds and CPUs.",
    &[],
);
static RUNNING: Metric<0> = Metric::gauge(
    "wakelag_procs_running",
    "Tasks that run or wait for a CPU.",
    &[],
);
static BLOCKED: Metric<0> = Metric::gauge("wakelag_procs_blocked", "Tasks that wait for IO.", &[]);

/// Modes in the order of the file.
const MODES: [&str; 10] = [
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
];
/// Ticks of /proc/stat in a second, the same on every architecture this runs on.
const USER_HZ: f64 = 100.0;
/// A step back of more ticks than this is a CPU that began anew, not the rounding the kernel warns of.
const MAX_STEP_BACK_TICKS: u64 = 300;

/// `/proc/stat` collector.
#[derive(Debug, Default)]
pub struct Stat {
    file: Option<Kept>,
    /// The last ticks published: idle and iowait are computed by the reader, and may step back a little.
    last: Vec<(u32, [u64; 10])>,
}

/// What `/proc/stat` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading {
    cpus: Vec<(u32, [u64; 10])>,
    context_switches: Option<u64>,
    interrupts: Option<u64>,
    running: Option<u64>,
    blocked: Option<u64>,
}

impl Collector for Stat {
    type Reading = Reading;
    const INFO: &'static Info = &Info {
        name: "stat",
        about: "CPU time by mode, interrupts, context switches, tasks running and blocked (/proc/stat)",
        default_on: true,
        cost: Cost::B,
        metrics: &[
            CPU_SECONDS.desc(),
            CONTEXT_SWITCHES.desc(),
            INTERRUPTS.desc(),
            RUNNING.desc(),
            BLOCKED.desc(),
        ],
    };

    fn read(&mut self, root: &Root) -> Result<Reading, Error> {
        let file = self.file.get_or_insert_with(|| root.proc("stat"));
        let mut reading = root.parse(file, stat)?;
        for (cpu, ticks) in &mut reading.cpus {
            if let Ok(at) = self.last.binary_search_by_key(cpu, |(number, _)| *number) {
                hold_back(ticks, &self.last[at].1);
            }
        }
        self.last.clone_from(&reading.cpus);
        Ok(reading)
    }

    fn emit(&mut self, reading: Reading, out: &mut Sink) {
        for (cpu, ticks) in &reading.cpus {
            let cpu = cpu.to_string();
            for (mode, ticks) in MODES.iter().zip(ticks) {
                out.put(&CPU_SECONDS, [&cpu, mode], *ticks as f64 / USER_HZ);
            }
        }
        for (metric, value) in [
            (&CONTEXT_SWITCHES, reading.context_switches),
            (&INTERRUPTS, reading.interrupts),
            (&RUNNING, reading.running),
            (&BLOCKED, reading.blocked),
        ] {
            if let Some(value) = value {
                out.put(metric, [], value as f64);
            }
        }
    }
}

/// Keeps counters from stepping back by rounding.
fn hold_back(ticks: &mut [u64; 10], last: &[u64; 10]) {
    for (now, last) in ticks.iter_mut().zip(last) {
        if *now < *last && *last - *now <= MAX_STEP_BACK_TICKS {
            *now = *last;
        }
    }
}

/// `/proc/stat`. Lines of a kind not known here are passed over; older kernels have fewer columns, which then are 0 as
/// the kernel of that time defined them.
///
/// # Errors
/// A field that is not a number, or a file without CPUs or with CPUs out of order.
pub fn stat(text: &str) -> Result<Reading, ParseError> {
    let mut reading = Reading::default();
    for (line, content) in (1..).zip(text.lines()) {
        let mut fields = content.split_ascii_whitespace();
        let key = fields.next().unwrap_or_default();
        let mut first = || {
            let field = fields.next();
            let field = field.ok_or_else(|| ParseError::new(line, "no value"))?;
            parse::field(line, field).map(Some)
        };
        match key {
            "intr" => reading.interrupts = first()?,
            "ctxt" => reading.context_switches = first()?,
            "procs_running" => reading.running = first()?,
            "procs_blocked" => reading.blocked = first()?,
            _ => {
                let number = key.strip_prefix("cpu").unwrap_or_default();
                if let Ok(number) = parse::cpu(number) {
                    // Only in order are they found again.
                    if reading.cpus.last().is_some_and(|(last, _)| *last >= number) {
                        return Err(ParseError::new(line, format!("{key} is out of order")));
                    }
                    let mut ticks = [0; 10];
                    for (tick, field) in ticks.iter_mut().zip(fields) {
                        *tick = parse::field(line, field)?;
                    }
                    reading.cpus.push((number, ticks));
                }
            }
        }
    }
    if reading.cpus.is_empty() {
        return Err(ParseError::new(1, "no CPU"));
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, shortened.
    const TEXT: &str = "cpu  5166 0 1883 61446 203 0 81 4 0 0
cpu0 2588 0 922 30737 116 0 25 2 0 0
cpu1 2578 0 961 30708 87 0 55 1 0 0
intr 231415 0 12 0
ctxt 424031
btime 1796076172
processes 6621
procs_running 3
procs_blocked 1
softirq 153411 0 23311
";

    #[test]
    fn cpus_and_totals() {
        let reading = stat(TEXT).unwrap();
        assert_eq!(reading.cpus.len(), 2);
        assert_eq!(
            reading.cpus[1],
            (1, [2578, 0, 961, 30708, 87, 0, 55, 1, 0, 0])
        );
        assert_eq!(reading.interrupts, Some(231_415));
        assert_eq!(reading.context_switches, Some(424_031));
        assert_eq!((reading.running, reading.blocked), (Some(3), Some(1)));
    }

    #[test]
    fn an_empty_file_is_refused_and_so_is_a_broken_one() {
        for bad in [
            "",
            "btime 1\n",
            "ctxt\n",
            "ctxt x\n",
            "cpu0 1 2 -3\n",
            "intr 18446744073709551616\n",
        ] {
            assert!(stat(bad).is_err(), "{bad}");
        }
        assert_eq!(stat("btime 1\ncpu0 1").unwrap().cpus[0].1[0], 1);
    }

    #[test]
    fn a_cpu_that_comes_twice_was_published_twice() {
        for bad in ["cpu0 1\ncpu0 2\n", "cpu1 1\ncpu0 2\n", "cpu+0 1\n"] {
            assert!(stat(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn idle_time_that_steps_back_by_rounding_stays_where_it_was() {
        let mut ticks = [0, 0, 0, 995, 10, 0, 0, 0, 0, 0];
        hold_back(&mut ticks, &[0, 0, 0, 1000, 9, 0, 0, 0, 0, 0]);
        assert_eq!(ticks[3..5], [1000, 10]);
        let mut anew = [0, 0, 0, 5, 0, 0, 0, 0, 0, 0];
        hold_back(&mut anew, &[0, 0, 0, 1000, 0, 0, 0, 0, 0, 0]);
        assert_eq!(anew[3], 5);
    }
}

//! Soft interrupts by kind: what the kernel does right after interrupts, in front of any task.
//!
//! Source: `/proc/softirqs`, counts.
//! Kernel: 2.6.31; Documentation/filesystems/proc.rst.
//! Absent: procfs mounted with `subset=pid`.
//! Denied: nothing; it is world-readable.
//! Cost: B, grows with possible CPUs.
//!
//! The kernel's counters are 32 bits wide and are widened here, CPU by CPU, before they are added up.

use std::collections::BTreeMap;

use toolkit::metric::{Metric, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::parse::ParseError;
use crate::root::{Error, Kept, Root};
use crate::table::{Counts, Sum, table};

static SOFTIRQS: Metric<1> = Metric::counter(
    "wakelag_softirqs_total",
    "Soft interrupts of all CPUs by kind, such as net_rx, timer or sched.",
    &["kind"],
);

/// `/proc/softirqs` collector.
#[derive(Debug, Default)]
pub struct Softirqs {
    file: Option<Kept>,
    sums: BTreeMap<String, Sum>,
}

impl Collector for Softirqs {
    type Reading = Vec<(String, Counts)>;
    const INFO: &'static Info = &Info {
        name: "softirqs",
        about: "soft interrupts by kind (/proc/softirqs)",
        default_on: true,
        cost: Cost::B,
        metrics: &[SOFTIRQS.desc()],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        let file = self.file.get_or_insert_with(|| root.proc("softirqs"));
        root.parse(file, softirqs)
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for (kind, counts) in reading {
            let sum = self.sums.entry(kind.clone()).or_default().advance(&counts);
            out.put(&SOFTIRQS, [&kind], sum as f64);
        }
    }
}

/// `/proc/softirqs`: a column a possible CPU, a row a kind.
///
/// # Errors
/// No columns, a row that has not a number in each, or a kind that comes twice.
pub fn softirqs(text: &str) -> Result<Vec<(String, Counts)>, ParseError> {
    let (cpus, rows) = table(text)?;
    let mut kinds = Vec::<(String, Counts)>::new();
    for row in rows {
        let kind = row.name.to_ascii_lowercase();
        if kinds.iter().any(|(known, _)| *known == kind) {
            return Err(ParseError::new(row.line, format!("{kind} comes twice")));
        }
        kinds.push((kind, row.counts(&cpus)?));
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, shortened.
    const TEXT: &str = "                    CPU0       CPU1       
          HI:          0          0
       TIMER:      99223     101902
    IRQ_POLL:          0          0
";

    #[test]
    fn kinds_by_cpu() {
        let kinds = softirqs(TEXT).unwrap();
        assert_eq!(kinds.len(), 3);
        assert_eq!(
            kinds[1],
            ("timer".to_owned(), vec![(0, 99_223), (1, 101_902)])
        );
        assert_eq!(kinds[2].0, "irq_poll");
    }

    #[test]
    fn a_broken_row_is_refused() {
        for (good, bad) in [
            ("101902", ""),
            ("101902", "-1"),
            ("CPU1", "x"),
            ("99223", "18446744073709551616"),
        ] {
            assert!(softirqs(&TEXT.replace(good, bad)).is_err(), "{bad}");
        }
        assert!(softirqs("").is_err());
    }

    #[test]
    fn a_kind_that_comes_twice_was_published_twice() {
        let twice = format!("{TEXT}    irq_poll:          1          1\n");
        let refused = softirqs(&twice).unwrap_err();
        assert_eq!(refused.to_string(), "line 5: irq_poll comes twice");
    }
}

//! Tables of procfs with a column a CPU, `/proc/softirqs` and `/proc/interrupts`, and sums over their columns.

use std::collections::BTreeMap;

use crate::parse::{self, ParseError};
use crate::wide::Wide;

/// A count by CPU.
pub type Counts = Vec<(u32, u64)>;

/// A row: `NAME:` and a count a column, and text behind them in `/proc/interrupts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'t> {
    /// Line in the file, from 1.
    pub line: usize,
    /// What stands in front of the colon.
    pub name: &'t str,
    /// What stands behind it.
    pub rest: &'t str,
}

/// The CPUs of the columns, and the rows, whose counts are not looked at yet: most rows of `/proc/interrupts` are not
/// asked for.
///
/// # Errors
/// The first line has anything but CPUs, or nothing, or CPUs out of order.
pub fn table(text: &str) -> Result<(Vec<u32>, impl Iterator<Item = Row<'_>>), ParseError> {
    let mut lines = (1..).zip(text.lines());
    let header = lines.next().map_or("", |(_, header)| header);
    let cpus: Option<Vec<u32>> = header
        .split_ascii_whitespace()
        .map(|column| parse::cpu(column.strip_prefix("CPU")?).ok())
        .collect();
    let cpus = cpus.filter(|cpus| !cpus.is_empty() && cpus.is_sorted_by(|a, b| a < b));
    let cpus = cpus.ok_or_else(|| ParseError::new(1, "no columns of CPUs in rising order"))?;
    let rows = lines.filter_map(|(line, content)| {
        let (name, rest) = content.split_once(':')?;
        let name = name.trim();
        Some(Row { line, name, rest })
    });
    Ok((cpus, rows))
}

impl Row<'_> {
    /// The counts of the row.
    ///
    /// # Errors
    /// Fewer of them than `cpus`, or something that is not a number among them.
    pub fn counts(&self, cpus: &[u32]) -> Result<Counts, ParseError> {
        let mut fields = self.rest.split_ascii_whitespace();
        let counts = cpus.iter().map(|cpu| {
            let field = fields.next();
            let field = field.ok_or_else(|| ParseError::new(self.line, "too few columns"))?;
            Ok((*cpu, parse::field(self.line, field)?))
        });
        counts.collect()
    }
}

/// The sum of 32-bit counters, one a CPU, without their wraps.
#[derive(Debug, Default)]
pub struct Sum(BTreeMap<u32, Wide>);

impl Sum {
    /// Takes the counters as they are now; the sum. It starts where the kernel is. A CPU without a column is offline:
    /// what it counted stays. One that gets a column later has counted before, at times nobody knows, and counts from
    /// now on.
    pub fn advance(&mut self, counts: &[(u32, u64)]) -> u64 {
        let is_first = self.0.is_empty();
        for (cpu, now) in counts {
            if is_first {
                self.0.entry(*cpu).or_default();
            }
            let wide = self.0.entry(*cpu);
            wide.or_insert_with(|| Wide::starting_at(*now))
                .advance(*now);
        }
        self.total()
    }

    /// The sum as it was last.
    pub fn total(&self) -> u64 {
        let totals = self.0.values().map(|wide| wide.total());
        totals.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_cpus_of_the_head() {
        let text =
            "           CPU0       CPU2\n  HI:  1  2\n NMI: 5 6  Non-maskable interrupts\nERR: 0\n";
        let (cpus, rows) = table(text).unwrap();
        assert_eq!(cpus, [0, 2]);
        let rows: Vec<Row> = rows.collect();
        assert_eq!(
            rows.iter().map(|row| row.name).collect::<Vec<_>>(),
            ["HI", "NMI", "ERR"]
        );
        assert_eq!(rows[0].counts(&cpus), Ok(vec![(0, 1), (2, 2)]));
        assert_eq!(rows[1].counts(&cpus), Ok(vec![(0, 5), (2, 6)]));
        assert!(rows[2].counts(&cpus).is_err());
    }

    #[test]
    fn a_table_without_a_head_is_refused() {
        for bad in ["", "\n", "HI: 1 2\n", "CPU0 CPUx\n", "\u{1F980} -1\n"] {
            assert!(table(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_head_with_a_cpu_twice_or_with_a_sign_was_taken() {
        for bad in ["CPU0 CPU0\n", "CPU1 CPU0\n", "CPU+1\n"] {
            assert!(table(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_sum_above_64_bits_wrapped_around() {
        let mut sum = Sum::default();
        assert_eq!(sum.advance(&[(0, u64::MAX), (1, 7)]), u64::MAX);
    }

    #[test]
    fn a_wrap_of_one_cpu_is_no_step_back_of_the_sum() {
        let mut sum = Sum::default();
        assert_eq!(sum.advance(&[(0, 4_294_967_290), (1, 10)]), 4_294_967_300);
        assert_eq!(sum.advance(&[(0, 4), (1, 10)]), 4_294_967_310);
    }

    #[test]
    fn a_cpu_that_goes_offline_keeps_its_part_and_one_that_comes_brings_no_past() {
        let mut sum = Sum::default();
        assert_eq!(sum.advance(&[(0, 100), (1, 50)]), 150);
        assert_eq!(sum.advance(&[(0, 101)]), 151);
        assert_eq!(sum.advance(&[(0, 101), (1, 52), (2, 9_000_000)]), 153);
        assert_eq!(sum.advance(&[(0, 101), (1, 52), (2, 9_000_001)]), 154);
    }
}

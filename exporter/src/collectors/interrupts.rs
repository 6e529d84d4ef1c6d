//! Interrupts that CPUs send each other, and timers: what wakes an idle CPU without any device.
//!
//! Source: `/proc/interrupts`, counts, in rows known by their text.
//! Kernel: 2.6; Documentation/filesystems/proc.rst. Newer kernels leave out rows that are 0.
//! Absent: procfs mounted with `subset=pid`; the row of a kind, such as `tlb` on arm64, which has no such interrupt.
//! Denied: container runtimes lay an empty file over it.
//! Cost: B, and heavy: the kernel prints every interrupt of every CPU, megabytes and milliseconds on large machines.
//!
//! An idle CPU that polls is woken without an interrupt, so a wake-up need not be counted here.

use std::collections::BTreeMap;

use toolkit::metric::{Metric, Sink};

use crate::collector::{Collector, Cost, Info};
use crate::parse::ParseError;
use crate::root::{Error, Kept, Root};
use crate::table::{Counts, Sum, table};

static INTERRUPTS: Metric<1> = Metric::counter(
    "wakelag_interrupts_kind_total",
    "Interrupts of all CPUs by kind, of those between CPUs and those of timers.",
    &["kind"],
);

/// Kinds, and how their rows end. x86 has rows `RES`, `CAL`, `LOC` and `TLB`; arm64 numbers its `IPI0`, `IPI1`
/// differently in each release, and has its timer among the devices.
const KINDS: [(&str, &str); 6] = [
    ("reschedule", " Rescheduling interrupts"),
    ("function_call", " Function call interrupts"),
    ("timer", " Local timer interrupts"),
    ("timer", " arch_timer"),
    ("timer", " Timer broadcast interrupts"),
    ("tlb", " TLB shootdowns"),
];

/// `/proc/interrupts` collector.
#[derive(Debug, Default)]
pub struct Interrupts {
    file: Option<Kept>,
    /// By kind and name of the row.
    rows: BTreeMap<(&'static str, String), Sum>,
}

/// A row of a kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Interrupt {
    kind: &'static str,
    /// The row's name, such as `RES`.
    row: String,
    counts: Counts,
}

impl Collector for Interrupts {
    type Reading = Vec<Interrupt>;
    const INFO: &'static Info = &Info {
        name: "interrupts",
        about: "interrupts between CPUs and of timers (/proc/interrupts, which is long on large machines)",
        default_on: false,
        cost: Cost::B,
        metrics: &[INTERRUPTS.desc()],
    };

    fn read(&mut self, root: &Root) -> Result<Self::Reading, Error> {
        let file = self.file.get_or_insert_with(|| root.proc("interrupts"));
        let rows = root.parse(file, |text| match text {
            "" => Ok(None),
            text => interrupts(text).map(Some),
        })?;
        rows.ok_or_else(|| root.hidden("interrupts"))
    }

    fn emit(&mut self, reading: Self::Reading, out: &mut Sink) {
        for interrupt in reading {
            let row = self.rows.entry((interrupt.kind, interrupt.row));
            row.or_default().advance(&interrupt.counts);
        }
        // Of all rows there ever were: one that has gone takes nothing away.
        let mut kinds = BTreeMap::<&str, u64>::new();
        for ((kind, _), row) in &self.rows {
            let sum = kinds.entry(kind).or_default();
            *sum = sum.saturating_add(row.total());
        }
        for (kind, sum) in kinds {
            out.put(&INTERRUPTS, [kind], sum as f64);
        }
    }
}

/// `/proc/interrupts`: a column an online CPU, a row an interrupt with its text at the end. Rows of no kind of ours are
/// passed over.
///
/// # Errors
/// No columns, or a row of ours that has not a number in each.
pub fn interrupts(text: &str) -> Result<Vec<Interrupt>, ParseError> {
    let (cpus, rows) = table(text)?;
    let ours = rows.filter_map(|row| {
        let (kind, _) = KINDS
            .iter()
            .find(|(_, end)| row.rest.trim_end().ends_with(end))?;
        let counts = row.counts(&cpus);
        Some(counts.map(|counts| Interrupt {
            kind,
            row: row.name.to_owned(),
            counts,
        }))
    });
    ours.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18 on x86, shortened.
    const X86: &str = "           CPU0       CPU1       
   0:          9          0  IR-IO-APIC    2-edge      timer
  24:          1          0  IO-APIC   5-edge      ACPI:Ged
 NMI:          0          0   Non-maskable interrupts
 LOC:    1218238    1211252   Local timer interrupts
 RES:     247127     184526   Rescheduling interrupts
 CAL:     623954     546804   Function call interrupts
 TLB:     279974     280646   TLB shootdowns
 ERR:          0
";

    /// The form of arm64, from arch/arm64/kernel/smp.c of Linux 6.12.
    const ARM64: &str = "           CPU0       CPU1       
 11:    9120044    8417193     GICv3  27 Level     arch_timer
 13:          0          0     GICv3  26 Level     kvm guest vtimer
IPI0:    310412     299875       Rescheduling interrupts
IPI1:     81220      79331       Function call interrupts
IPI2:         0          0       CPU stop interrupts
IPI4:        12         15       Timer broadcast interrupts
IPI5:      4400       4521       IRQ work interrupts
Err:          0
";

    fn found(text: &str) -> Vec<(&'static str, String, u64)> {
        let rows = interrupts(text).unwrap().into_iter();
        rows.map(|row| (row.kind, row.row, row.counts[1].1))
            .collect()
    }

    #[test]
    fn kinds_of_x86() {
        let row = |kind, row: &str, count| (kind, row.to_owned(), count);
        assert_eq!(
            found(X86),
            [
                row("timer", "LOC", 1_211_252),
                row("reschedule", "RES", 184_526),
                row("function_call", "CAL", 546_804),
                row("tlb", "TLB", 280_646),
            ]
        );
    }

    #[test]
    fn kinds_of_arm64_whatever_their_numbers() {
        let row = |kind, row: &str, count| (kind, row.to_owned(), count);
        let expected = [
            row("timer", "11", 8_417_193),
            row("reschedule", "IPI0", 299_875),
            row("function_call", "IPI1", 79_331),
            row("timer", "IPI4", 15),
        ];
        assert_eq!(found(ARM64), expected);
        let renumbered = ARM64.replace("IPI0", "IPI9").replace("IPI1", "IPI0");
        let kinds = found(&renumbered);
        assert_eq!((kinds[1].0, kinds[2].0), ("reschedule", "function_call"));
    }

    #[test]
    fn only_a_broken_row_of_ours_is_refused() {
        assert!(
            interrupts(
                &X86.replace("ACPI:Ged", "")
                    .replace("  24:          1", "  24:          x")
            )
            .is_ok()
        );
        for (good, bad) in [("184526", ""), ("247127", "-1"), ("CPU1", "x")] {
            assert!(interrupts(&X86.replace(good, bad)).is_err(), "{bad}");
        }
        assert!(interrupts("").is_err());
    }

    #[test]
    fn a_row_that_had_gone_took_its_interrupts_out_of_the_sum() {
        let mut collector = Interrupts::default();
        let mut published = |text: &str| {
            let mut sink = Sink::new();
            collector.emit(interrupts(text).unwrap(), &mut sink);
            let text = toolkit::exposition::Format::Text.encode(&sink.into_families());
            let text = String::from_utf8(text.unwrap()).unwrap();
            let lines = text.lines().filter(|line| line.contains("\"timer\""));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let before = published(ARM64);
        let without: Vec<&str> = ARM64
            .lines()
            .filter(|line| !line.contains("IPI4"))
            .collect();
        assert_eq!(published(&without.join("\n")), before);
        assert_eq!(before.len(), 1);
    }
}

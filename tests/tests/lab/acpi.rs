//! The firmware table that gives QEMU's CPUs idle states and frequencies.
//!
//! QEMU's own tables name the CPUs and say nothing of their power management, so this one adds to them. An idle state of
//! ACPI type C1 in the functional fixed hardware space is entered with HLT, whatever latency it claims: the states are
//! really entered and left, chosen by the real governor, and only the latencies are made up. A frequency is a number that
//! the driver writes to an I/O port: those of the DMA page registers keep what is written, and nothing here does DMA.

use std::fmt::Write as _;

/// CPUs of the machine.
pub(crate) const CPUS: usize = 4;
/// Exit latency of C1, C2 and C3. Linux takes twice of it for the target residency.
pub(crate) const EXIT_LATENCY_US: [u32; 3] = [2, 40, 250];
/// Frequencies, highest first.
pub(crate) const FREQUENCIES_MHZ: [u32; 3] = [3400, 2200, 800];

/// A byte of storage for each CPU.
const PORTS: [u8; CPUS] = [0x87, 0x83, 0x81, 0x82];

/// The table's source, for `iasl`.
pub(crate) fn source() -> String {
    let mut table =
        String::from("DefinitionBlock (\"\", \"SSDT\", 2, \"WAKLAG\", \"POWER\", 1)\n{\n");
    for (cpu, port) in PORTS.iter().enumerate() {
        let device = format!("\\_SB.CPUS.C{cpu:03X}");
        let register = format!("ResourceTemplate () {{ Register (SystemIO, 8, 0, {port:#x}) }}");
        let packages = [("_CST", idle_states()), ("_PSS", frequencies())];
        writeln!(
            table,
            "External ({device}, DeviceObj)\nScope ({device})\n{{"
        )
        .unwrap();
        for (name, package) in packages {
            writeln!(table, "  Name ({name}, {package})").unwrap();
        }
        writeln!(
            table,
            "  Name (_PCT, Package () {{ {register}, {register} }})"
        )
        .unwrap();
        writeln!(table, "  Name (_PPC, 0)").unwrap();
        // Each CPU is a frequency domain of its own, coordinated by software.
        writeln!(
            table,
            "  Name (_PSD, Package () {{ Package () {{ 5, 0, {cpu}, 0xFC, 1 }} }})\n}}"
        )
        .unwrap();
    }
    table + "}\n"
}

/// Count, then register, type, latency in us and power in mW of each state.
fn idle_states() -> String {
    let register = "ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }";
    let states = EXIT_LATENCY_US.map(|us| format!("Package () {{ {register}, 1, {us}, 100 }}"));
    format!("Package () {{ {}, {} }}", states.len(), states.join(", "))
}

/// MHz, mW, latencies of a transition in us, and the number that is written and read back for each.
fn frequencies() -> String {
    let states = (0x10..).zip(FREQUENCIES_MHZ);
    let states = states.map(|(number, mhz)| {
        format!(
            "Package () {{ {mhz}, {}, 10, 10, {number}, {number} }}",
            mhz * 10
        )
    });
    format!("Package () {{ {} }}", states.collect::<Vec<_>>().join(", "))
}

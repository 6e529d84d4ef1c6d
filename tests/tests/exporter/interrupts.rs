//! Counters of 32 bits by CPU, in tables whose columns come and go.

use exporter::collector::State;

use crate::series::{Host, starting};

const FLAG: &str = "--collector.interrupts";
const RESCHEDULES: &str = "wakelag_interrupts_kind_total{kind=\"reschedule\"}";

#[test]
fn softirqs_of_one_cpu_that_wrap_go_on_in_the_sum() {
    let host = Host::new("guest-empty", |machine| {
        machine.write(
            "proc/softirqs",
            "      CPU0       CPU1\n  NET_RX:  4294967295  7\n",
        );
    });
    let name = "wakelag_softirqs_total{kind=\"net_rx\"}";
    assert_eq!(host.scrape()[name], 4_294_967_302.0);
    host.machine
        .write("proc/softirqs", "      CPU0       CPU1\n  NET_RX:  9  8\n");
    assert_eq!(host.scrape()[name], 4_294_967_313.0);
    assert_eq!(host.unwell(), [""; 0]);
}

#[test]
fn a_cpu_without_a_column_keeps_its_part_and_a_new_column_brings_no_past() {
    let rows = |text: &str| format!("{text} Rescheduling interrupts\n ERR:  0\n");
    let host = Host::with_flags("guest-empty", &[FLAG], |machine| {
        machine.remove("proc/interrupts");
        machine.write("proc/interrupts", &rows("  CPU0 CPU1\n RES: 100 50  "));
        machine.reserve("proc/interrupts", 200);
    });
    assert_eq!(host.scrape()[RESCHEDULES], 150.0);
    for (text, sum) in [
        ("  CPU0\n RES: 101  ", 151.0),
        ("  CPU0 CPU1\n RES: 101 52  ", 153.0),
        ("  CPU0 CPU1 CPU2\n RES: 101 52 90000 ", 153.0),
        ("  CPU0 CPU1 CPU2\n RES: 101 52 90002 ", 155.0),
    ] {
        host.machine.write("proc/interrupts", &rows(text));
        assert_eq!(host.scrape()[RESCHEDULES], sum, "{text}");
    }
}

#[test]
fn interrupts_are_read_only_on_demand_and_an_empty_file_is_one_that_is_hidden() {
    let host = Host::new("guest-empty", |_| {});
    assert!(starting(&host.scrape(), "wakelag_interrupts_kind").is_empty());
    let host = Host::with_flags("guest-empty", &[FLAG], |machine| {
        std::fs::write(machine.path("proc/interrupts"), "").unwrap();
    });
    assert!(starting(&host.scrape(), "wakelag_interrupts_kind").is_empty());
    assert_eq!(host.state("interrupts"), State::Denied);
    assert!(
        host.reason("interrupts")
            .ends_with("proc/interrupts: Permission denied")
    );
}

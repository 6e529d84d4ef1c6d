//! Whether the exporter goes on reading the current frequency: before Linux 5.19 that interrupts CPUs and sleeps.

use crate::acpi::{CPUS, FREQUENCIES_MHZ};
use crate::room::{Room, test};
use crate::transcript::{Scrape, Transcript};

/// Since when current frequencies are there to judge, and why.
pub(crate) const FREE: (u32, u32) = (5, 19);
pub(crate) const INTERRUPTS: &str =
    "before Linux 5.19 the current frequency interrupts the CPU, and is left alone";

pub(crate) const ROOM: Room = Room {
    name: "frequency",
    steps: STEPS,
    tests: &[
        test!(a_kernel_that_sleeps_in_the_read_is_recognised)
            .before(FREE, "since Linux 5.19 the kernel asks no CPU"),
        test!(current_frequencies_stay_where_they_are_free).since(FREE, INTERRUPTS),
    ],
};

/// CPUs that are idle may be left out by such a kernel, but the one that reads is not.
const STEPS: &str = r#"
scrape frequency.begin
repeat 10 scrape frequency.meanwhile
scrape frequency.end
section frequency.log
grep scaling_cur_freq /tmp/log
"#;

fn shown(scrape: &Scrape) -> Vec<(&str, f64)> {
    scrape.series("wakelag_cpu_scaling_frequency_hertz", "")
}

fn a_kernel_that_sleeps_in_the_read_is_recognised(lab: &Transcript) {
    assert_eq!(shown(&lab.scrape("frequency.end")), []);
    let log = lab.text("frequency.log");
    assert_eq!(
        log.matches("current frequencies are left out").count(),
        1,
        "{log}"
    );
    // What else there is to know of frequencies stays.
    let end = lab.scrape("frequency.end");
    let limits = end.series("wakelag_cpu_scaling_frequency_max_hertz", "");
    assert_eq!(limits.len(), CPUS);
}

fn current_frequencies_stay_where_they_are_free(lab: &Transcript) {
    assert_eq!(lab.text("frequency.log"), "");
    let hertz = FREQUENCIES_MHZ.map(|mhz| f64::from(mhz) * 1e6);
    for name in ["frequency.begin", "frequency.end", "after.scrapes"] {
        let scrape = lab.scrape(name);
        let shown = shown(&scrape);
        assert_eq!(shown.len(), CPUS, "{name}: {shown:?}");
        assert!(
            shown.iter().all(|(_, value)| hertz.contains(value)),
            "{name}: {shown:?}"
        );
    }
}

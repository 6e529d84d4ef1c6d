//! The exporter in its sandbox, as it starts by default, and what all of its scrapes had to say.

use crate::room::{Room, test};
use crate::transcript::Transcript;

const NO_LANDLOCK: &str = "Landlock is there since Linux 5.13";

pub(crate) const ROOM: Room = Room {
    name: "sandbox",
    steps: STEPS,
    tests: &[
        test!(the_exporter_was_in_its_sandbox_all_the_time).since((5, 13), NO_LANDLOCK),
        test!(without_landlock_the_log_says_so).before((5, 13), "Landlock is there"),
        test!(the_kernels_device_is_read_from_within),
        test!(nothing_was_ever_unwell),
    ],
};

/// The device is written as four bytes, as a program does it: 70 us.
const STEPS: &str = r#"
section sandbox.log
grep -i sandbox /tmp/log
exec 3<>/dev/cpu_dma_latency
printf '\106\0\0\0' >&3
scrape sandbox.device
exec 3>&-
scrape sandbox.device.closed
"#;

fn the_exporter_was_in_its_sandbox_all_the_time(lab: &Transcript) {
    let log = lab.text("sandbox.log");
    assert!(
        log.lines().count() == 1 && log.contains("sandbox entered"),
        "{log}"
    );
}

fn without_landlock_the_log_says_so(lab: &Transcript) {
    let log = lab.text("sandbox.log");
    assert!(
        log.contains("no sandbox: this kernel has no Landlock"),
        "{log}"
    );
}

fn the_kernels_device_is_read_from_within(lab: &Transcript) {
    let limit = "wakelag_pm_qos_cpu_latency_limit_seconds";
    assert_eq!(lab.scrape("sandbox.device").value(limit), 70e-6);
    assert_eq!(lab.scrape("sandbox.device.closed").get(limit), None);
}

/// Whatever the rooms did to the machine, each collector was `ok` or `absent` and counted no error.
fn nothing_was_ever_unwell(lab: &Transcript) {
    let scrapes = lab.scrapes();
    assert!(scrapes.len() > 30, "{scrapes:?}");
    for name in scrapes {
        assert_eq!(lab.scrape(name).troubles(), [], "{name}");
    }
}

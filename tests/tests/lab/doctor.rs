//! What `wakelag-exporter doctor` says to root, and to users whom the kernel refuses a file.

use serde_json::Value;

use crate::room::{Room, test};
use crate::transcript::Transcript;

pub(crate) const ROOM: Room = Room {
    name: "doctor",
    steps: STEPS,
    tests: &[
        test!(root_may_read_all_that_there_is),
        test!(what_root_is_told),
        test!(root_without_capabilities_may_read_energy_too),
        test!(a_user_is_denied_energy_and_nothing_else),
        test!(what_a_user_is_told),
        test!(a_user_with_the_capability_that_was_named_may_read_energy),
    ],
};

const STEPS: &str = r#"
doctor() { section doctor.$1; shift; "$@" /bin/wakelag-exporter doctor --collector.timeout 60 $format 2>/dev/null; }
user="/bin/setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all"
format="--format json"
doctor root env
doctor powerless /bin/setpriv --bounding-set -all --inh-caps -all
doctor nobody $user --inh-caps -all
doctor reader /bin/setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +dac_read_search --ambient-caps +dac_read_search
format=
doctor root.text env
doctor nobody.text $user --inh-caps -all
"#;

/// Collectors that are not well: name, state and reason.
fn unwell(lab: &Transcript, section: &str) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(lab.text(section))
        .unwrap_or_else(|error| panic!("{error}: {}", lab.text(section)));
    let collectors = report["collectors"].as_array().unwrap();
    let texts = collectors.iter().map(|collector| {
        ["collector", "state", "reason"].map(|key| collector[key].as_str().unwrap().to_owned())
    });
    let unwell = texts.filter(|[_, state, _]| state != "ok" && state != "absent");
    unwell
        .map(|[name, state, reason]| (name, state, reason))
        .collect()
}

fn root_may_read_all_that_there_is(lab: &Transcript) {
    assert_eq!(unwell(lab, "doctor.root"), []);
}

fn root_without_capabilities_may_read_energy_too(lab: &Transcript) {
    assert_eq!(unwell(lab, "doctor.powerless"), []);
}

fn a_user_with_the_capability_that_was_named_may_read_energy(lab: &Transcript) {
    assert_eq!(unwell(lab, "doctor.reader"), []);
}

fn a_user_is_denied_energy_and_nothing_else(lab: &Transcript) {
    let unwell = unwell(lab, "doctor.nobody");
    let [(name, state, reason)] = &unwell[..] else {
        panic!("{unwell:#?}");
    };
    assert_eq!((&**name, &**state), ("rapl", "denied"));
    assert!(
        reason.contains("/sys/class/powercap/intel-rapl:0/energy_uj"),
        "{reason}"
    );
}

/// What is said of `collector` below its line with the figures.
fn said(report: &str, collector: &str) -> String {
    let mut parts = report.split("\n\n");
    let part = parts.find(|part| part.split(' ').next() == Some(collector));
    let part = part.unwrap_or_else(|| panic!("nothing of {collector} in:\n{report}"));
    let lines = part.lines().skip(1).map(str::trim);
    lines.collect::<Vec<_>>().join("\n")
}

fn what_root_is_told(lab: &Transcript) {
    let report = lab.text("doctor.root.text");
    for collector in ["settings", "rapl", "cpuidle", "cpufreq", "sched"] {
        assert_eq!(said(report, collector), "");
    }
    assert_eq!(
        said(report, "throttle"),
        "/sys/devices/system/cpu/cpu0/thermal_throttle: No such file or directory\n\
         This is a virtual machine: its host decides over power and does not show it.\n\
         Nothing is to be done here; run the exporter on the host too if it is yours."
    );
}

fn what_a_user_is_told(lab: &Transcript) {
    let report = lab.text("doctor.nobody.text");
    assert_eq!(
        said(report, "rapl"),
        "/sys/class/powercap/intel-rapl:0/energy_uj: Permission denied\n\
         Since Linux 5.10 energy is for root only (CVE-2020-8694).\n\
         Give the process CAP_DAC_READ_SEARCH (systemd: AmbientCapabilities=CAP_DAC_READ_SEARCH), \
         or run it as root without any other capability, or have a udev rule open the files \
         (docs/operations.md). For --collector.rapl.source=perf it takes CAP_PERFMON, or CAP_SYS_ADMIN where \
         /proc/sys/kernel/perf_event_paranoid is above 2."
    );
    // Well, but not with everything.
    let settings = said(report, "settings");
    let without = "without /dev/cpu_dma_latency: Permission denied";
    assert!(settings.starts_with(without), "{settings}");
    assert_eq!(said(report, "cpuidle"), "");
}

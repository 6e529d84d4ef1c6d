use super::*;
use crate::collector::Outcome;
use crate::collectors::COLLECTORS;
use std::time::Duration;

const HARDWARE: Host = Host {
    is_virtual: false,
    is_arm: false,
    in_container: false,
    is_masked: false,
    is_root: false,
};

fn advice(collector: &str, state: State, host: Host) -> Option<Advice> {
    let entry = COLLECTORS.iter().find(|entry| entry.info.name == collector);
    let standing = Standing {
        info: entry.unwrap().info,
        outcome: Some(Outcome {
            state,
            reason: String::new(),
            errors: vec![],
        }),
        duration: Duration::ZERO,
    };
    on(&standing, &host)
}

#[test]
fn every_outcome_but_ok_has_a_why_and_a_next_step() {
    let states = [State::Absent, State::Denied, State::Failed, State::Timeout];
    for entry in COLLECTORS {
        assert_eq!(advice(entry.info.name, State::Ok, HARDWARE), None);
        for state in states {
            let advice = advice(entry.info.name, state, HARDWARE).unwrap();
            assert!(
                advice.why.ends_with('.') && advice.next.ends_with('.'),
                "{advice:?}"
            );
        }
    }
}

#[test]
fn a_guest_is_told_that_its_host_decides_and_a_container_how_to_see_energy() {
    let guest = Host {
        is_virtual: true,
        ..HARDWARE
    };
    assert!(
        advice("cpuidle", State::Absent, guest)
            .unwrap()
            .why
            .contains("virtual machine")
    );
    assert!(
        !advice("pressure", State::Absent, guest)
            .unwrap()
            .why
            .contains("virtual machine")
    );
    let container = Host {
        is_masked: true,
        ..HARDWARE
    };
    let next = |host| advice("rapl", State::Absent, host).unwrap().next;
    // What is read by perf_event_open is not hidden by a mount.
    assert!(
        advice("cstate", State::Absent, container)
            .unwrap()
            .next
            .contains("intel_cstate")
    );
    assert!(next(container).contains("/host/sys"));
    // The host's own files are mounted already.
    let mounted = Host {
        in_container: true,
        ..HARDWARE
    };
    assert!(next(mounted).contains("intel_rapl_msr"));
}

#[test]
fn an_arm_machine_is_not_told_to_load_drivers_of_intel_s() {
    let arm = Host {
        is_arm: true,
        ..HARDWARE
    };
    for entry in COLLECTORS {
        let advice = advice(entry.info.name, State::Absent, arm).unwrap();
        for word in ["intel_", "acpi-cpufreq", "P-states"] {
            assert!(!advice.next.contains(word), "{advice:?}");
        }
    }
}

#[test]
fn who_may_not_read_energy_is_told_every_way_to() {
    let next = |collector, host| advice(collector, State::Denied, host).unwrap().next;
    let rapl = next("rapl", HARDWARE);
    for way in [
        "CAP_DAC_READ_SEARCH",
        "udev",
        "CAP_PERFMON",
        "CAP_SYS_ADMIN",
    ] {
        assert!(rapl.contains(way), "{way}: {rapl}");
    }
    let cstate = next("cstate", HARDWARE);
    for way in ["CAP_PERFMON", "CAP_SYS_ADMIN", "perf_event_paranoid=0"] {
        assert!(cstate.contains(way), "{way}: {cstate}");
    }
    let container = Host {
        in_container: true,
        is_root: true,
        ..HARDWARE
    };
    assert!(next("cstate", container).contains("container"));
    let user = Host {
        is_root: false,
        ..container
    };
    assert!(next("rapl", user).contains("CAP_PERFMON"));
    let guest = Host {
        is_virtual: true,
        ..HARDWARE
    };
    assert!(
        advice("cstate", State::Absent, guest)
            .unwrap()
            .why
            .contains("virtual machine")
    );
}

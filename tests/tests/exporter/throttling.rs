//! Thermal throttling, whose counters are copies that come and go with CPUs.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, starting};

const CPU: &str = "sys/devices/system/cpu";
const PACKAGE: &str = "wakelag_cpu_package_throttles_total{package=\"0\"}";
const CORE: &str = "wakelag_cpu_core_throttles_total{package=\"0\",core=\"1\"}";

fn throttles(host: &Host) -> Series {
    let mut series = host.scrape();
    series.retain(|name, _| name.contains("throttle") && !name.contains("collector="));
    series
}

/// Package and core count of a CPU.
fn set(machine: &Fixture, cpu: u32, package: u32, core: u32) {
    let dir = format!("{CPU}/cpu{cpu}/thermal_throttle");
    machine.write(
        &format!("{dir}/package_throttle_count"),
        &format!("{package}\n"),
    );
    machine.write(&format!("{dir}/core_throttle_count"), &format!("{core}\n"));
}

#[test]
fn a_package_counts_what_the_most_of_its_cpus_counts_and_not_their_sum() {
    let host = Host::new("intel-2s-icelake", |machine| {
        set(machine, 0, 17, 0);
        // CPUs 1 and 5 are one core.
        set(machine, 1, 19, 3);
        set(machine, 5, 18, 4);
    });
    let series = throttles(&host);
    assert_eq!((series[PACKAGE], series[CORE]), (19.0, 4.0));
}

#[test]
fn a_cpu_that_goes_offline_with_the_most_takes_nothing_back() {
    let host = Host::new("intel-2s-icelake", |machine| {
        set(machine, 1, 40, 9);
        set(machine, 5, 17, 3);
    });
    let before = throttles(&host);
    assert_eq!((before[PACKAGE], before[CORE]), (40.0, 9.0));
    let dirs = ["topology", "thermal_throttle"].map(|dir| format!("{CPU}/cpu1/{dir}"));
    for (number, dir) in dirs.iter().enumerate() {
        let aside = host.machine.path(&format!("aside{number}"));
        std::fs::rename(host.machine.path(dir), aside).unwrap();
    }
    let online = host.machine.read(&format!("{CPU}/online"));
    host.machine.write(&format!("{CPU}/online"), "0,2-7\n");
    assert_eq!(throttles(&host), before);
    set(&host.machine, 5, 41, 3);
    // Files that were open are no CPU's any more.
    host.machine.write("aside1/package_throttle_count", "99\n");
    let gone = throttles(&host);
    assert_eq!((gone[PACKAGE], gone[CORE]), (41.0, 9.0));
    assert_eq!(host.unwell(), [""; 0]);

    for (number, dir) in dirs.iter().enumerate() {
        let aside = host.machine.path(&format!("aside{number}"));
        std::fs::rename(aside, host.machine.path(dir)).unwrap();
    }
    host.machine.write(&format!("{CPU}/online"), &online);
    let dir = format!("{CPU}/cpu1/thermal_throttle");
    host.machine
        .write(&format!("{dir}/core_throttle_count"), "x\n");
    assert_eq!(throttles(&host)[CORE], 9.0);
    set(&host.machine, 1, 42, 10);
    let back = throttles(&host);
    assert_eq!((back[PACKAGE], back[CORE]), (42.0, 10.0));
}

#[test]
fn a_count_that_cannot_be_read_for_once_takes_nothing_back() {
    let host = Host::new("intel-2s-icelake", |machine| set(machine, 1, 40, 9));
    let before = throttles(&host);
    for file in ["core_throttle_count", "package_throttle_count"] {
        let file = format!("{CPU}/cpu1/thermal_throttle/{file}");
        host.machine.write(&file, "x\n");
    }
    assert_eq!(throttles(&host), before);
    assert_eq!(host.state("throttle"), State::Failed);
}

#[test]
fn a_machine_that_does_not_count_it_has_no_series_and_nothing_is_wrong() {
    let host = Host::new("kernel-6.14", |_| {});
    for _ in 0..2 {
        assert!(starting(&host.scrape(), "wakelag_cpu_package_throttle").is_empty());
        assert_eq!(host.state("throttle"), State::Absent);
        assert_eq!(host.unwell(), [""; 0]);
    }
}

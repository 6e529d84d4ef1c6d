//! RAPL: wraps, zones that differ from each other, zones that come and go, masks.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};

const POWERCAP: &str = "sys/devices/virtual/powercap/intel-rapl";
const ENERGY: &str = "wakelag_rapl_energy_joules_total";

fn intel() -> Host {
    Host::new("intel-2s-icelake", |_| {})
}

fn joules(series: &Series, zone: &str) -> Option<f64> {
    let all = starting(series, ENERGY).into_iter();
    let mut of = all.filter(|(name, _)| label(name, "zone") == Some(zone));
    of.next().map(|(_, joules)| joules)
}

fn write_energy(machine: &Fixture, zone: &str, uj: u64) {
    machine.write(
        &format!("sys/class/powercap/{zone}/energy_uj"),
        &format!("{uj}\n"),
    );
}

fn add_zone(machine: &Fixture, zone: &str, name: &str, energy_uj: u64) {
    let dir = format!("sys/class/powercap/{zone}");
    machine.write(&format!("{dir}/name"), &format!("{name}\n"));
    machine.write(&format!("{dir}/energy_uj"), &format!("{energy_uj}\n"));
    machine.write(&format!("{dir}/max_energy_range_uj"), "262143328850\n");
}

#[test]
fn energy_starts_at_zero_and_a_restart_is_a_counter_reset() {
    let host = intel();
    let first = host.scrape();
    assert_eq!(starting(&first, ENERGY).len(), 4);
    assert!(
        starting(&first, ENERGY)
            .iter()
            .all(|(_, joules)| *joules == 0.0)
    );
    write_energy(&host.machine, "intel-rapl:0", 83_214_456_712 + 5_000_000);
    assert_eq!(joules(&host.scrape(), "intel-rapl:0"), Some(5.0));
    let again = crate::support::exporter(&host.machine);
    let again = crate::series::series(&crate::support::scrape(&again));
    assert_eq!(joules(&again, "intel-rapl:0"), Some(0.0));
}

#[test]
fn a_zone_that_wraps_goes_on_and_the_others_are_not_touched() {
    let host = intel();
    write_energy(&host.machine, "intel-rapl:0:0", 65_712_000_000);
    host.scrape();
    write_energy(&host.machine, "intel-rapl:0:0", 1_000_000);
    let series = host.scrape();
    assert_eq!(joules(&series, "intel-rapl:0:0"), Some(1.999_613));
    assert_eq!(joules(&series, "intel-rapl:0"), Some(0.0));
    let wraps = starting(&series, "wakelag_rapl_wraps_total").into_iter();
    let wrapped: Vec<_> = wraps.filter(|(_, wraps)| *wraps != 0.0).collect();
    assert_eq!(wrapped.len(), 1);
    assert_eq!(label(wrapped[0].0, "zone"), Some("intel-rapl:0:0"));
}

#[test]
fn a_wrap_without_a_range_is_an_error_once_and_never_negative() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove(&format!("{POWERCAP}/intel-rapl:0/max_energy_range_uj"));
    });
    host.scrape();
    assert_eq!(host.state("rapl"), State::Ok);
    write_energy(&host.machine, "intel-rapl:0", 1_000_000);
    let series = host.scrape();
    assert_eq!(joules(&series, "intel-rapl:0"), None);
    assert_eq!(joules(&series, "intel-rapl:1"), Some(0.0));
    assert_eq!(host.state("rapl"), State::Failed);
    write_energy(&host.machine, "intel-rapl:0", 3_000_000);
    assert_eq!(joules(&host.scrape(), "intel-rapl:0"), Some(2.0));
    assert_eq!(host.state("rapl"), State::Ok);
}

#[test]
fn a_zone_that_counts_no_energy_costs_the_others_nothing() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove(&format!("{POWERCAP}/intel-rapl:1/energy_uj"));
        machine.write("sys/class/powercap/intel-rapl:2/name", "psys\n");
        machine.write("sys/class/powercap/dtpm:0/power_uw", "12000000\n");
    });
    for _ in 0..2 {
        assert_eq!(starting(&host.scrape(), ENERGY).len(), 3);
        assert_eq!(host.state("rapl"), State::Ok);
    }
}

/// Reading the energy of arm-scmi goes through a mailbox to firmware.
#[test]
fn zones_that_talk_to_firmware_are_not_read() {
    let host = Host::new("intel-2s-icelake", |machine| {
        add_zone(machine, "arm-scmi:0", "soc", 1);
        machine.make_fifo("sys/class/powercap/arm-scmi:0/energy_uj");
    });
    assert_eq!(starting(&host.scrape(), ENERGY).len(), 4);
    assert_eq!(host.state("rapl"), State::Ok);
}

#[test]
fn a_zone_that_cannot_be_read_costs_its_own_series_in_every_scrape() {
    for file in ["energy_uj", "name", "max_energy_range_uj"] {
        let host = Host::new("intel-2s-icelake", |machine| {
            machine.remove(&format!("{POWERCAP}/intel-rapl:1/{file}"));
            std::fs::create_dir(machine.path(&format!("{POWERCAP}/intel-rapl:1/{file}"))).unwrap();
        });
        for _ in 0..3 {
            let series = host.scrape();
            assert_eq!(joules(&series, "intel-rapl:0"), Some(0.0));
            assert_eq!(joules(&series, "intel-rapl:0:0"), Some(0.0));
            assert_eq!(host.state("rapl"), State::Failed, "{file}");
            assert!(
                host.reason("rapl").contains("intel-rapl:1"),
                "{}",
                host.reason("rapl")
            );
        }
        host.machine
            .remove(&format!("{POWERCAP}/intel-rapl:1/{file}"));
        let text = if file == "name" {
            "package-1\n"
        } else {
            "262143328850\n"
        };
        host.machine
            .write(&format!("{POWERCAP}/intel-rapl:1/{file}"), text);
        assert_eq!(
            starting(&host.scrape(), ENERGY).len(),
            4,
            "{file} is mended"
        );
        assert_eq!(host.state("rapl"), State::Ok);
    }
}

#[test]
fn the_same_counter_from_two_drivers_is_two_series_and_counts_once() {
    let host = Host::new("intel-2s-icelake", |machine| {
        add_zone(machine, "intel-rapl-mmio:0", "package-0", 1_000_000)
    });
    host.scrape();
    write_energy(&host.machine, "intel-rapl-mmio:0", 8_000_000);
    write_energy(&host.machine, "intel-rapl:0", 83_214_456_712 + 7_000_000);
    let series = host.scrape();
    assert_eq!(joules(&series, "intel-rapl-mmio:0"), Some(7.0));
    assert_eq!(joules(&series, "intel-rapl:0"), Some(7.0));
    let by_profile = starting(&series, "wakelag_profile_energy_joules_total").into_iter();
    let of_package = by_profile.filter(|(name, _)| label(name, "name") == Some("package-0"));
    assert_eq!(of_package.map(|(_, joules)| joules).sum::<f64>(), 7.0);
}

/// Labels come from names, not from the order in which a directory lists them or drivers register.
#[test]
fn zones_registered_in_another_order_keep_their_package() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.write(&format!("{POWERCAP}/intel-rapl:0/name"), "package-1\n");
        machine.write(
            &format!("{POWERCAP}/intel-rapl:1/name"),
            "package-0-die-1\n",
        );
    });
    let series = host.scrape();
    let packages: Vec<_> = starting(&series, ENERGY)
        .into_iter()
        .map(|(name, _)| {
            ["zone", "package", "die"]
                .map(|l| label(name, l).unwrap().to_owned())
                .join(" ")
        })
        .collect();
    assert_eq!(
        packages,
        [
            "intel-rapl:0 1 ",
            "intel-rapl:0:0 1 ",
            "intel-rapl:1 0 1",
            "intel-rapl:1:0 0 1"
        ]
    );
}

#[test]
fn a_package_that_goes_offline_and_comes_back_is_found_again() {
    let host = intel();
    host.scrape();
    let class = |zone: &str| host.machine.path(&format!("sys/class/powercap/{zone}"));
    for zone in ["intel-rapl:1", "intel-rapl:1:0"] {
        std::fs::rename(class(zone), host.machine.path(&format!("sys/{zone}"))).unwrap();
    }
    let series = host.scrape();
    assert_eq!(starting(&series, ENERGY).len(), 2);
    assert_eq!(host.state("rapl"), State::Ok);
    write_energy(&host.machine, "intel-rapl:0", 83_214_456_712 + 1_000_000);
    for zone in ["intel-rapl:1", "intel-rapl:1:0"] {
        std::fs::rename(host.machine.path(&format!("sys/{zone}")), class(zone)).unwrap();
    }
    let series = host.scrape();
    assert_eq!(starting(&series, ENERGY).len(), 4);
    assert_eq!(
        joules(&series, "intel-rapl:0"),
        Some(1.0),
        "the meter of the other package goes on"
    );
}

/// The driver is unloaded and loaded again, or a scrape falls into the moment in which a package changes hands.
#[test]
fn energy_does_not_begin_anew_when_all_zones_were_gone_for_a_scrape() {
    let host = intel();
    host.scrape();
    write_energy(&host.machine, "intel-rapl:0", 83_214_456_712 + 5_000_000);
    assert_eq!(joules(&host.scrape(), "intel-rapl:0"), Some(5.0));
    let class = host.machine.path("sys/class/powercap");
    std::fs::rename(&class, host.machine.path("sys/aside")).unwrap();
    std::fs::create_dir(&class).unwrap();
    assert!(starting(&host.scrape(), ENERGY).is_empty());
    assert_eq!(host.state("rapl"), State::Absent);
    std::fs::remove_dir(&class).unwrap();
    std::fs::rename(host.machine.path("sys/aside"), &class).unwrap();
    write_energy(&host.machine, "intel-rapl:0", 83_214_456_712 + 6_000_000);
    assert_eq!(joules(&host.scrape(), "intel-rapl:0"), Some(6.0));
}

/// Container runtimes mount an empty directory over the zones; the class still has links to them.
#[test]
fn a_masked_powercap_is_absent_and_no_error() {
    let empty = Host::new("intel-2s-icelake", |machine| {
        machine.remove("sys/class/powercap");
        std::fs::create_dir(machine.path("sys/class/powercap")).unwrap();
    });
    let dangling = Host::new("intel-2s-icelake", |machine| {
        machine.remove("sys/devices/virtual/powercap");
        std::fs::create_dir(machine.path("sys/devices/virtual/powercap")).unwrap();
    });
    let none = Host::new("intel-2s-icelake", |machine| {
        machine.remove("sys/class/powercap")
    });
    for host in [empty, dangling, none] {
        for _ in 0..2 {
            let series = host.scrape();
            assert_eq!(host.state("rapl"), State::Absent, "{}", host.reason("rapl"));
            assert!(host.reason("rapl").contains("class/powercap"));
            let errors = starting(&series, "wakelag_scrape_errors_total{collector=\"rapl\"");
            assert!(errors.iter().all(|(_, count)| *count == 0.0), "{errors:?}");
        }
    }
}

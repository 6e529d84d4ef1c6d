//! Power limits of RAPL zones: what they say, once, and what a zone without them costs.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};

const ZONES: &str = "sys/class/powercap";
const LIMIT: &str = "wakelag_rapl_power_limit_watts";
const WINDOW: &str = "wakelag_rapl_time_window_seconds";
const ENABLED: &str = "wakelag_rapl_zone_enabled";

/// Value by zone and constraint.
fn of<'s>(series: &'s Series, family: &str) -> Vec<(&'s str, Option<&'s str>, f64)> {
    let found = starting(series, family).into_iter();
    let found = found.map(|(name, value)| {
        (
            label(name, "zone").unwrap(),
            label(name, "constraint"),
            value,
        )
    });
    found.collect()
}

#[test]
fn limits_are_in_watts_and_seconds_and_those_that_are_none_have_no_series() {
    let host = Host::new("intel-2s-icelake", |_| {});
    let series = host.scrape();
    let (long, short) = (Some("long_term"), Some("short_term"));
    assert_eq!(
        of(&series, LIMIT),
        [
            ("intel-rapl:0", long, 235.0),
            ("intel-rapl:0", short, 282.0),
            ("intel-rapl:1", long, 235.0),
            ("intel-rapl:1", short, 282.0),
        ]
    );
    assert_eq!(
        of(&series, WINDOW)[..2],
        [
            ("intel-rapl:0", long, 0.999_424),
            ("intel-rapl:0", short, 0.007_808)
        ]
    );
    assert_eq!(
        of(&series, ENABLED),
        [
            ("intel-rapl:0", None, 1.0),
            ("intel-rapl:0:0", None, 0.0),
            ("intel-rapl:1", None, 1.0),
            ("intel-rapl:1:0", None, 0.0),
        ]
    );
}

#[test]
fn limits_are_those_of_the_start_until_the_zone_is_found_again() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    let set = |watts: u64| {
        let file = format!("{ZONES}/intel-rapl:1/constraint_0_power_limit_uw");
        host.machine.write(&file, &format!("{watts}000000\n"));
    };
    set(150);
    assert_eq!(of(&host.scrape(), LIMIT)[2].2, 235.0);
    let zones = ["intel-rapl:1", "intel-rapl:1:0"];
    let class = |zone: &str| host.machine.path(&format!("{ZONES}/{zone}"));
    let aside = |zone: &str| host.machine.path(&format!("sys/{zone}"));
    for zone in zones {
        std::fs::rename(class(zone), aside(zone)).unwrap();
    }
    assert_eq!(of(&host.scrape(), LIMIT).len(), 2);
    for zone in zones {
        std::fs::rename(aside(zone), class(zone)).unwrap();
    }
    set(160);
    assert_eq!(of(&host.scrape(), LIMIT)[2].2, 160.0);
}

#[test]
fn amd_has_no_limits_and_is_well() {
    let host = Host::new("amd-4700u", |_| {});
    assert!(starting(&host.scrape(), "wakelag_rapl_energy").len() > 1);
    for family in [LIMIT, WINDOW, ENABLED] {
        assert!(of(&host.scrape(), family).is_empty(), "{family}");
    }
    assert_eq!(host.state("rapl"), State::Ok);
}

#[test]
fn a_zone_that_only_limits_power_shows_its_limits() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove("sys/devices/virtual/powercap/intel-rapl/intel-rapl:1/energy_uj");
    });
    let series = host.scrape();
    assert_eq!(starting(&series, "wakelag_rapl_energy").len(), 3);
    assert_eq!(of(&series, LIMIT).len(), 4);
    assert_eq!(host.state("rapl"), State::Ok);
}

/// Once read, it is missing in every scrape, and so it is said in every scrape.
#[test]
fn a_limit_that_cannot_be_read_costs_its_own_series_and_is_said_in_every_scrape() {
    let file = format!("{ZONES}/intel-rapl:0/constraint_1_time_window_us");
    let break_it = |machine: &Fixture| {
        machine.remove(&file);
        machine.write(&format!("{file}/is-a-directory"), "");
    };
    let host = Host::new("intel-2s-icelake", break_it);
    for _ in 0..3 {
        let series = host.scrape();
        assert_eq!(of(&series, LIMIT).len(), 4);
        assert_eq!(of(&series, WINDOW).len(), 3);
        assert_eq!(starting(&series, "wakelag_rapl_energy").len(), 4);
        assert_eq!(host.state("rapl"), State::Failed);
        assert!(host.reason("rapl").contains("constraint_1_time_window_us"));
    }
}

use std::time::{Duration, UNIX_EPOCH};

use toolkit::metric::family;

use super::*;

struct Host {
    ledger: Ledger,
    start: Instant,
}

impl Host {
    fn new() -> Self {
        Host {
            ledger: Ledger::default(),
            start: Instant::now(),
        }
    }

    /// A scrape `seconds` after the start that sees this profile and these counters of package 0.
    fn scrape(&mut self, seconds: u64, profile: Option<&str>, joules: Option<f64>) {
        let mut out = Sink::new();
        if let Some(profile) = profile {
            out.put(&PROFILE_INFO, [profile, "", "", "", "", "", ""], 1.0);
        }
        if let Some(joules) = joules {
            let zone = |control_type| [control_type, "zone:0", "package-0", "0", ""];
            out.put(&rapl::ENERGY, zone("intel-rapl"), joules);
            out.put(&rapl::ENERGY, zone("intel-rapl-mmio"), joules);
            out.put(
                &rapl::ENERGY,
                ["intel-rapl", "zone:0:0", "core", "0", ""],
                joules,
            );
        }
        let at = Duration::from_secs(seconds);
        let wall = UNIX_EPOCH + Duration::from_secs(1_000_000) + at;
        self.ledger
            .observe(&[out.into_families()], self.start + at, wall);
    }

    fn value(&self, metric: &Desc, labels: &[&str]) -> Option<f64> {
        let mut out = Sink::new();
        self.ledger.emit(&mut out);
        let families = out.into_families();
        let mut samples = family(&families, metric.name)?.samples();
        let fits = |sample: &Sample<'_>| {
            sample
                .labels()
                .map(|(_, value)| value)
                .eq(labels.iter().copied())
        };
        samples.find(fits)?.value()
    }

    fn seconds(&self, profile: &str) -> Option<f64> {
        self.value(SECONDS.desc(), &[profile])
    }

    fn joules(&self, profile: &str) -> Option<f64> {
        self.value(ENERGY.desc(), &[profile, "package-0"])
    }
}

#[test]
fn time_and_energy_go_to_the_profile_they_were_spent_under() {
    let mut host = Host::new();
    host.scrape(0, Some("a"), Some(0.0));
    host.scrape(10, Some("a"), Some(500.0));
    host.scrape(20, Some("b"), Some(900.0));
    host.scrape(30, Some("b"), Some(1000.0));
    assert_eq!(host.seconds("a"), Some(10.0));
    assert_eq!(host.joules("a"), Some(500.0));
    assert_eq!(host.seconds(CHANGING), Some(10.0));
    assert_eq!(host.joules(CHANGING), Some(400.0));
    assert_eq!(host.seconds("b"), Some(10.0));
    assert_eq!(host.joules("b"), Some(100.0));
    assert_eq!(host.value(ACTIVE.desc(), &["a"]), Some(0.0));
    assert_eq!(host.value(ACTIVE.desc(), &["b"]), Some(1.0));
    assert_eq!(host.value(CHANGES.desc(), &[]), Some(1.0));
    assert_eq!(host.value(LAST_CHANGE.desc(), &[]), Some(1_000_020.0));
}

/// The probe asks for settings every second; energy is read by the slower scrapes.
#[test]
fn energy_over_a_change_seen_by_another_scrape_belongs_to_no_profile() {
    let mut host = Host::new();
    host.scrape(0, Some("a"), Some(0.0));
    host.scrape(5, Some("b"), None);
    host.scrape(10, Some("b"), Some(100.0));
    host.scrape(20, Some("b"), Some(150.0));
    assert_eq!(host.joules(CHANGING), Some(100.0));
    assert_eq!(host.joules("b"), Some(50.0));
    assert_eq!(host.joules("a"), Some(0.0));
}

#[test]
fn energy_read_without_the_profile_waits_until_the_profile_is_known() {
    let mut host = Host::new();
    host.scrape(0, Some("a"), Some(0.0));
    host.scrape(10, None, Some(100.0));
    host.scrape(20, Some("b"), Some(150.0));
    assert_eq!(host.joules("a"), Some(0.0));
    assert_eq!(host.joules(CHANGING), Some(150.0));
}

#[test]
fn the_twin_of_a_zone_and_what_is_inside_a_package_are_not_added_up() {
    let mut host = Host::new();
    host.scrape(0, Some("a"), Some(0.0));
    host.scrape(1, Some("a"), Some(7.0));
    assert_eq!(host.joules("a"), Some(7.0));
    assert_eq!(host.value(ENERGY.desc(), &["a", "core"]), None);
}

#[test]
fn an_energy_counter_that_began_anew_adds_nothing() {
    let mut host = Host::new();
    host.scrape(0, Some("a"), Some(1000.0));
    host.scrape(1, Some("a"), Some(3.0));
    host.scrape(2, Some("a"), Some(5.0));
    assert_eq!(host.joules("a"), Some(2.0));
}

#[test]
fn a_host_without_a_change_has_a_zero_timestamp_and_one_without_settings_nothing() {
    let mut host = Host::new();
    assert_eq!(host.value(LAST_CHANGE.desc(), &[]), None);
    host.scrape(0, None, Some(1.0));
    assert_eq!(host.value(LAST_CHANGE.desc(), &[]), None);
    host.scrape(1, Some("a"), None);
    assert_eq!(host.value(LAST_CHANGE.desc(), &[]), Some(0.0));
    assert_eq!(host.seconds("a"), Some(0.0));
}

#[test]
fn the_number_of_profiles_is_bounded() {
    let mut host = Host::new();
    for n in 0..200 {
        host.scrape(n, Some(&format!("profile-{n}")), None);
    }
    assert_eq!(host.ledger.seen.len(), MAX_PROFILES + 1);
    assert_eq!(host.value(ACTIVE.desc(), &[OTHER]), Some(1.0));
}

//! An energy counter that counts what it is told: the kernel's powercap files over a module of the lab's own, because an
//! emulated CPU has no energy to count.

use crate::PROFILE;
use crate::room::{Room, test};
use crate::transcript::{Scrape, Transcript};

pub(crate) const ROOM: Room = Room {
    name: "energy",
    steps: STEPS,
    tests: &[
        test!(the_limit_of_the_zone_is_that_of_its_driver),
        test!(energy_goes_on_when_the_counter_wraps),
        test!(energy_belongs_to_the_profile_it_was_spent_under),
        test!(a_zone_that_goes_with_its_driver_comes_back_without_a_jump),
    ],
};

const STEPS: &str = r#"
energy() { echo "$1" >/sys/module/zone/parameters/energy_uj; scrape "energy.$1"; }
energy 262140000000
energy 262143000000
energy 5000000
energy 7500000
rmmod zone
scrape energy.gone
insmod /zone.ko energy_uj=8000000
scrape energy.back
"#;

const PACKAGE: &str =
    "{control_type=\"intel-rapl\",zone=\"intel-rapl:0\",name=\"package-0\",package=\"0\",die=\"\"}";

fn joules(scrape: &Scrape) -> f64 {
    scrape.value(&format!("wakelag_rapl_energy_joules_total{PACKAGE}"))
}

fn spent(lab: &Transcript, from: &str, to: &str) -> f64 {
    let spent = joules(&lab.scrape(to)) - joules(&lab.scrape(from));
    // To the microjoule: what was added up are large numbers with a fraction.
    (spent * 1e6).round() / 1e6
}

fn wraps(lab: &Transcript, scrape: &str) -> f64 {
    lab.scrape(scrape)
        .value(&format!("wakelag_rapl_wraps_total{PACKAGE}"))
}

/// The driver has one limit, and no time window for it.
fn the_limit_of_the_zone_is_that_of_its_driver(lab: &Transcript) {
    for name in ["energy.262140000000", "energy.back"] {
        let scrape = lab.scrape(name);
        let labels = PACKAGE.replace('}', ",constraint=\"long_term\"}");
        let limit = scrape.value(&format!("wakelag_rapl_power_limit_watts{labels}"));
        assert_eq!(limit, 65.0, "{name}");
        let windows = scrape.series("wakelag_rapl_time_window_seconds", "");
        assert_eq!(windows, [], "{name}");
    }
}

fn energy_goes_on_when_the_counter_wraps(lab: &Transcript) {
    assert_eq!(
        spent(lab, "energy.262140000000", "energy.262143000000"),
        3.0
    );
    // The range ends at 262143.328850 J.
    assert_eq!(
        spent(lab, "energy.262143000000", "energy.5000000"),
        5.328_850
    );
    assert_eq!(spent(lab, "energy.5000000", "energy.7500000"), 2.5);
    assert_eq!(wraps(lab, "energy.262143000000"), 0.0);
    assert_eq!(wraps(lab, "energy.7500000"), 1.0);
}

fn energy_belongs_to_the_profile_it_was_spent_under(lab: &Transcript) {
    let spent = under_profile(lab, "energy.7500000") - under_profile(lab, "energy.262140000000");
    assert!((spent - 10.828_850).abs() < 1e-6, "{spent} J");
}

fn a_zone_that_goes_with_its_driver_comes_back_without_a_jump(lab: &Transcript) {
    let gone = lab.scrape("energy.gone");
    assert_eq!(gone.series("wakelag_rapl_energy_joules_total", ""), []);
    let absent = "wakelag_scrape_collector_state{collector=\"rapl\",state=\"absent\"}";
    assert_eq!(gone.value(absent), 1.0, "{:?}", gone.troubles());
    let back = lab.scrape("energy.back");
    assert_eq!(back.troubles(), []);
    // The counter may begin anew, which Prometheus sees, or go on; half a joule was spent.
    let (before_j, back_j) = (joules(&lab.scrape("energy.7500000")), joules(&back));
    let increase_j = if back_j < before_j {
        back_j
    } else {
        back_j - before_j
    };
    assert!(
        (0.0..0.500_001).contains(&increase_j),
        "{before_j} J, then {back_j} J"
    );
    let spent = under_profile(lab, "energy.back") - under_profile(lab, "energy.7500000");
    assert!(
        (0.0..0.500_001).contains(&spent),
        "{spent} J under the profile"
    );
}

fn under_profile(lab: &Transcript, scrape: &str) -> f64 {
    let labels = format!("{{profile=\"{PROFILE}\",name=\"package-0\"}}");
    lab.scrape(scrape)
        .value(&format!("wakelag_profile_energy_joules_total{labels}"))
}

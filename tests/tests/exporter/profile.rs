//! A change of settings between scrapes: profile, time and energy.

use std::time::Duration;

use crate::series::{Host, Series, label, starting};
use crate::support;

const CPU: &str = "sys/devices/system/cpu";

fn profile(series: &Series) -> String {
    let info = starting(series, "wakelag_profile_info");
    assert_eq!(info.len(), 1);
    label(info[0].0, "profile").unwrap().to_owned()
}

fn set_governor(host: &Host, governor: &str, cpus: std::ops::Range<u32>) {
    for cpu in cpus {
        host.machine.write(
            &format!("{CPU}/cpufreq/policy{cpu}/scaling_governor"),
            &format!("{governor}\n"),
        );
    }
}

fn spend(host: &Host, joules: u64) {
    let file = "sys/class/powercap/intel-rapl:0/energy_uj";
    let now: u64 = host.machine.read(file).trim().parse().unwrap();
    host.machine
        .write(file, &format!("{}\n", now + joules * 1_000_000));
}

#[test]
fn a_change_of_governor_makes_a_profile_and_time_and_energy_go_to_the_right_one() {
    let host = Host::new("intel-2s-icelake", |_| {});
    let start = std::time::SystemTime::now();
    let before = profile(&host.scrape());
    assert!(before.starts_with("powersave/boost=on/idle<="), "{before}");
    spend(&host, 5);
    host.scrape();
    set_governor(&host, "performance", 0..8);
    spend(&host, 7);
    let series = host.scrape();
    let after = profile(&series);
    assert!(after.starts_with("performance/"), "{after}");
    spend(&host, 11);
    let series_after = host.scrape();

    let joules = |series: &Series, profile: &str| {
        series
            .get(&format!(
                "wakelag_profile_energy_joules_total{{profile=\"{profile}\",name=\"package-0\"}}"
            ))
            .copied()
    };
    assert_eq!(joules(&series, &before), Some(5.0));
    assert_eq!(joules(&series, "changing"), Some(7.0));
    assert_eq!(joules(&series_after, &after), Some(11.0));
    assert_eq!(joules(&series_after, &before), Some(5.0));
    let seconds = |series: &Series, profile: &str| {
        series[&format!("wakelag_profile_seconds_total{{profile=\"{profile}\"}}")]
    };
    assert!(seconds(&series, "changing") > 0.0);
    assert_eq!(seconds(&series, &after), 0.0);
    assert!(seconds(&series_after, &after) > 0.0);
    assert_eq!(seconds(&series_after, &before), seconds(&series, &before));
    let active =
        |profile: &str| series_after[&format!("wakelag_profile_active{{profile=\"{profile}\"}}")];
    assert_eq!([active(&before), active(&after)], [0.0, 1.0]);
    assert_eq!(series_after["wakelag_profile_changes_total"], 1.0);

    let changed =
        series_after["wakelag_setting_last_change_timestamp_seconds{setting=\"governor\"}"];
    let start = start
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    assert!(changed >= start && changed < start + 60.0);
    assert!((series_after["wakelag_profile_last_change_timestamp_seconds"] - changed).abs() < 5.0);
    assert_eq!(
        series_after["wakelag_setting_last_change_timestamp_seconds{setting=\"smt\"}"],
        0.0
    );
    let ratio = |value: &str| {
        series_after[&format!("wakelag_setting_ratio{{setting=\"governor\",value=\"{value}\"}}")]
    };
    assert_eq!(
        ["powersave", "performance", "schedutil"].map(ratio),
        [0.0, 1.0, 0.0]
    );
}

#[test]
fn a_change_on_some_cpus_is_mixed_with_the_share_of_each() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    set_governor(&host, "performance", 0..2);
    let series = host.scrape();
    assert!(profile(&series).starts_with("mixed/"));
    assert_eq!(
        series["wakelag_setting_ratio{setting=\"governor\",value=\"performance\"}"],
        0.25
    );
    let changed = series["wakelag_setting_last_change_timestamp_seconds{setting=\"governor\"}"];
    set_governor(&host, "performance", 2..4);
    let series = host.scrape();
    assert!(
        series["wakelag_setting_last_change_timestamp_seconds{setting=\"governor\"}"] > changed
    );
    assert_eq!(
        series["wakelag_profile_changes_total"], 1.0,
        "mixed is one profile"
    );
}

#[test]
fn settings_that_come_and_go_for_ever_do_not_grow_the_exposition() {
    let host = Host::new("intel-2s-icelake", |_| {});
    let mut most = 0;
    for round in 0..150 {
        set_governor(&host, &format!("g{round}"), 0..8);
        let series = host.scrape();
        most = most.max(starting(&series, "wakelag_profile_").len());
    }
    assert!(most < 450, "{most} series for 150 profiles");
}

/// How long before the scrape that shows it a change was dated, when it happened about 4 s before.
fn dated_before_scrape(check_interval: Duration) -> f64 {
    let machine = tests::fixture::unpack("guest-empty");
    let exporter = support::exporter_that_checks(&machine, check_interval);
    support::scrape(&exporter);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    machine.write(&format!("{CPU}/smt/control"), "off\n");
    let guarded = async { tokio::time::timeout(Duration::from_secs(4), exporter.guard()).await };
    runtime.block_on(guarded).unwrap_err();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let series = crate::series::series(&support::scrape(&exporter));
    assert_eq!(series["wakelag_profile_changes_total"], 1.0);
    now.unwrap().as_secs_f64() - series["wakelag_profile_last_change_timestamp_seconds"]
}

#[test]
fn a_change_between_two_scrapes_is_dated_when_it_happens_unless_checks_are_off() {
    let ago = dated_before_scrape(Duration::from_millis(100));
    assert!(ago > 1.0, "{ago} s before the scrape");
    let ago = dated_before_scrape(Duration::ZERO);
    assert!(ago <= 0.0, "{ago} s before the scrape");
}

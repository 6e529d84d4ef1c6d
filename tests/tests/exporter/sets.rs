//! `--profile.set`: more sets of CPUs than the host's own, each with its profile, time and energy.

use crate::series::{Host, Series, label, starting};

const CPU: &str = "sys/devices/system/cpu";
/// Two packages: CPUs 0, 1, 4, 5 and 2, 3, 6, 7.
const MACHINE: &str = "intel-2s-icelake";

fn set_governor(host: &Host, governor: &str, cpus: &[u32]) {
    for cpu in cpus {
        let file = format!("{CPU}/cpufreq/policy{cpu}/scaling_governor");
        host.machine.write(&file, &format!("{governor}\n"));
    }
}

fn profile(series: &Series, set: &str) -> String {
    let info = starting(series, &format!("wakelag_profile_set_info{{set=\"{set}\""));
    assert_eq!(info.len(), 1, "{set}");
    label(info[0].0, "profile").unwrap().to_owned()
}

#[test]
fn each_set_has_the_profile_of_its_own_cpus_beside_the_hosts() {
    let flags = ["--profile.set=db1=0-1,4-5", "--profile.set=db2=2,3,6-7"];
    let host = Host::with_flags(MACHINE, &flags, |_| {});
    set_governor(&host, "performance", &[2, 3, 6, 7]);
    let series = host.scrape();
    assert!(profile(&series, "db1").starts_with("powersave/"));
    assert!(profile(&series, "db2").starts_with("performance/"));
    let own = starting(&series, "wakelag_profile_info{");
    assert_eq!(label(own[0].0, "governor"), Some("mixed"));
    let on = |set: &str, package: u32| {
        let name =
            format!("wakelag_profile_set_package_info{{set=\"{set}\",package=\"{package}\"}}");
        series.get(&name).copied()
    };
    let lies = [("db1", 0), ("db1", 1), ("db2", 0), ("db2", 1)].map(|(s, p)| on(s, p));
    assert_eq!(lies, [Some(1.0), None, None, Some(1.0)]);
    assert_eq!(host.unwell(), [""; 0]);
}

#[test]
fn without_a_set_there_is_no_series_of_sets() {
    let host = Host::new(MACHINE, |_| {});
    assert_eq!(starting(&host.scrape(), "wakelag_profile_set"), []);
}

#[test]
fn a_set_whose_cpus_go_offline_says_so() {
    let host = Host::with_flags(MACHINE, &["--profile.set=db=6-7"], |_| {});
    let cpus = |series: &Series| {
        ["online", "offline"].map(|state| {
            series[&format!("wakelag_profile_set_cpus{{set=\"db\",state=\"{state}\"}}")]
        })
    };
    assert_eq!(cpus(&host.scrape()), [2.0, 0.0]);
    let online = format!("{CPU}/online");
    host.machine.write(&online, "0-6\n");
    let series = host.scrape();
    assert_eq!(cpus(&series), [1.0, 1.0]);
    assert!(profile(&series, "db").starts_with("powersave/"));
    host.machine.write(&online, "0-5\n");
    let series = host.scrape();
    assert_eq!(cpus(&series), [0.0, 2.0]);
    assert_eq!(profile(&series, "db"), "offline");
    assert_eq!(starting(&series, "wakelag_profile_set_package_info"), []);
}

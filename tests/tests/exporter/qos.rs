//! Limits of PM QoS: what is still allowed, what the profile says, and who may see it.

use exporter::collector::State;
use tests::fixture::Fixture;

use crate::series::{Host, Series, label, starting};
use crate::support;

const CPU: &str = "sys/devices/system/cpu";
const DEVICE: &str = "dev/cpu_dma_latency";

fn limit_host(machine: &Fixture, us: i32) {
    std::fs::write(machine.path(DEVICE), us.to_ne_bytes()).unwrap();
}

fn limit_cpu(machine: &Fixture, cpu: u32, text: &str) {
    let file = format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us");
    machine.remove(&file);
    machine.write(&file, text);
}

fn profile(series: &Series) -> &str {
    let info = starting(series, "wakelag_profile_info");
    label(info[0].0, "profile").unwrap()
}

fn slowest_us(series: &Series, cpu: u32) -> f64 {
    let name = format!("wakelag_cpuidle_max_enabled_exit_latency_seconds{{cpu=\"{cpu}\"}}");
    (series[&name] * 1e6).round()
}

/// kernel-6.14 has POLL (0 us), C1 (1 us) and C2 (100 us) on eight CPUs.
#[test]
fn a_limit_of_the_host_rules_states_out_on_every_cpu() {
    for (us, deepest, latency_us) in [
        (99, "C1@1us", 1.0),
        (1, "C1@1us", 1.0),
        (0, "POLL@0us", 0.0),
    ] {
        let host = Host::new("kernel-6.14", |machine| limit_host(machine, us));
        let series = host.scrape();
        let want = format!("/idle<={deepest}/qos<={us}us/smt=");
        assert!(profile(&series).contains(&want), "{}", profile(&series));
        let info = starting(&series, "wakelag_profile_info")[0].0;
        assert_eq!(label(info, "qos"), Some(&*format!("{us}us")));
        let limit = series["wakelag_pm_qos_cpu_latency_limit_seconds"];
        assert_eq!((limit * 1e6).round(), f64::from(us));
        for cpu in 0..8 {
            assert_eq!(slowest_us(&series, cpu), latency_us, "{us}");
        }
        assert_eq!(host.unwell(), [""; 0]);
    }
}

#[test]
fn without_a_limit_there_is_no_series_and_no_part_of_the_profile() {
    let host = Host::new("kernel-6.14", |machine| limit_host(machine, 2_000_000_000));
    let series = host.scrape();
    assert_eq!(starting(&series, "wakelag_pm_qos"), []);
    assert!(!profile(&series).contains("qos"), "{}", profile(&series));
    assert_eq!(slowest_us(&series, 0), 100.0);
    assert_eq!(
        series["wakelag_setting_ratio{setting=\"qos\",value=\"none\"}"],
        1.0
    );
}

#[test]
fn a_limit_of_one_cpu_counts_there_only_and_the_tighter_one_wins() {
    let host = Host::new("kernel-6.14", |machine| {
        limit_cpu(machine, 3, "20\n");
        limit_cpu(machine, 4, "n/a\n");
    });
    let series = host.scrape();
    assert!(
        profile(&series).contains("/idle<=mixed/qos<=mixed/"),
        "{}",
        profile(&series)
    );
    assert_eq!(
        [2, 3, 4].map(|cpu| slowest_us(&series, cpu)),
        [100.0, 1.0, 0.0]
    );
    assert_eq!(
        starting(&series, "wakelag_pm_qos"),
        [
            (
                "wakelag_pm_qos_cpu_resume_latency_limit_seconds{cpu=\"3\"}",
                20e-6
            ),
            (
                "wakelag_pm_qos_cpu_resume_latency_limit_seconds{cpu=\"4\"}",
                0.0
            ),
        ]
    );
    limit_host(&host.machine, 10);
    let series = host.scrape();
    let share = |value: &str| {
        series[&format!("wakelag_setting_ratio{{setting=\"qos\",value=\"{value}\"}}")]
    };
    assert_eq!(["10us", "0us", "none"].map(share), [0.875, 0.125, 0.0]);
    assert_eq!(
        [2, 3, 4].map(|cpu| slowest_us(&series, cpu)),
        [1.0, 1.0, 0.0]
    );
    assert_eq!(
        series["wakelag_profile_changes_total"], 0.0,
        "mixed before and after"
    );
}

#[test]
fn a_limit_that_comes_and_goes_is_a_change_of_profile() {
    let host = Host::new("kernel-6.14", |_| {});
    let before = profile(&host.scrape()).to_owned();
    limit_host(&host.machine, 5);
    let series = host.scrape();
    assert!(
        profile(&series).contains("/idle<=C1@1us/qos<=5us/"),
        "{}",
        profile(&series)
    );
    host.machine.remove(DEVICE);
    let series = host.scrape();
    assert_eq!(profile(&series), before);
    assert_eq!(series["wakelag_profile_changes_total"], 2.0);
    assert!(series["wakelag_setting_last_change_timestamp_seconds{setting=\"qos\"}"] > 0.0);
}

#[test]
fn what_the_device_answers_must_be_a_latency() {
    for bytes in [&b""[..], b"0x0000000a\n", &[255; 4]] {
        let host = Host::new("kernel-6.14", |machine| {
            std::fs::write(machine.path(DEVICE), bytes).unwrap();
        });
        let series = host.scrape();
        assert_eq!(host.state("settings"), State::Failed, "{bytes:?}");
        assert!(host.reason("settings").contains("cpu_dma_latency"));
        assert!(
            profile(&series).contains("/idle<=C2@100us/"),
            "{}",
            profile(&series)
        );
    }
}

#[test]
fn a_profile_of_chosen_cpus_is_about_those_only() {
    let machine = tests::fixture::unpack("kernel-6.14");
    limit_cpu(&machine, 3, "20\n");
    let governor = format!("{CPU}/cpufreq/policy5/scaling_governor");
    machine.write(&governor, "performance\n");
    for (cpus, want) in [
        (
            "0-2,6",
            "powersave/epp=balance_performance/boost=on/idle<=C2@100us/smt=on",
        ),
        (
            "3",
            "powersave/epp=balance_performance/boost=on/idle<=C1@1us/qos<=20us/smt=on",
        ),
        (
            "5",
            "performance/epp=balance_performance/boost=on/idle<=C2@100us/smt=on",
        ),
        (
            "4-5",
            "mixed/epp=balance_performance/boost=on/idle<=C2@100us/smt=on",
        ),
        ("900", "offline"),
    ] {
        let exporter = support::exporter_of(&machine, &[&format!("--profile.cpus={cpus}")]);
        let series = crate::series::series(&support::scrape(&exporter));
        assert_eq!(profile(&series), want, "{cpus}");
        // The settings themselves are those of all CPUs.
        let ratio = series["wakelag_setting_ratio{setting=\"governor\",value=\"performance\"}"];
        assert_eq!(ratio, 0.125);
    }
}

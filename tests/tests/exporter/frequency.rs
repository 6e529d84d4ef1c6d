//! Frequency policies: files that are busy, unknown or missing, and policies of several CPUs.

use exporter::collector::State;

use crate::series::{Host, starting};

const POLICY: &str = "sys/devices/system/cpu/cpufreq/policy";

#[test]
fn a_frequency_the_driver_does_not_know_is_left_out_and_no_failure() {
    for text in ["<unknown>\n", "<unsupported>\n"] {
        let host = Host::new("kernel-6.14", |machine| {
            for file in [
                "scaling_cur_freq",
                "scaling_max_freq",
                "cpuinfo_avg_freq",
                "cpuinfo_max_freq",
                "cpuinfo_min_freq",
            ] {
                machine.write(&format!("{POLICY}0/{file}"), text);
            }
        });
        let series = host.scrape();
        let of_cpu0 = series
            .keys()
            .filter(|name| name.contains("frequency") && name.contains("{cpu=\"0\"}"));
        assert_eq!(
            of_cpu0.collect::<Vec<_>>(),
            ["wakelag_cpu_scaling_frequency_min_hertz{cpu=\"0\"}"]
        );
        assert_eq!(host.state("cpufreq"), State::Ok);
    }
}

#[test]
fn a_policy_of_several_cpus_is_published_for_each_of_them() {
    let host = Host::new("intel-2s-icelake", |machine| {
        for policy in 1..8 {
            machine.remove(&format!("{POLICY}{policy}"));
        }
        machine.write(&format!("{POLICY}0/affected_cpus"), "0 1 2 3 4 5 6 7\n");
        machine.write(&format!("{POLICY}0/stats/total_trans"), "193\n");
        machine.write(
            &format!("{POLICY}0/stats/time_in_state"),
            "3401000 694\n800000 1502\n",
        );
    });
    let series = host.scrape();
    let current = starting(&series, "wakelag_cpu_scaling_frequency_hertz");
    assert_eq!(current.len(), 8);
    assert!(current.iter().all(|(_, hertz)| *hertz == 3_194_823_000.0));
    assert_eq!(
        starting(&series, "wakelag_cpu_frequency_transitions_total"),
        [("wakelag_cpu_frequency_transitions_total{cpu=\"0\"}", 193.0)]
    );
    assert_eq!(
        starting(&series, "wakelag_cpu_frequency_state_seconds_total").len(),
        2
    );
    assert_eq!(
        series["wakelag_setting_ratio{setting=\"governor\",value=\"powersave\"}"],
        1.0
    );
}

#[test]
fn a_policy_without_online_cpus_is_passed_over() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove(&format!("{POLICY}3/affected_cpus"));
        machine.write(&format!("{POLICY}3/affected_cpus"), "\n");
    });
    let series = host.scrape();
    assert_eq!(
        starting(&series, "wakelag_cpu_scaling_frequency_hertz").len(),
        7
    );
    assert_eq!(host.unwell(), [""; 0]);
}

#[test]
fn a_cpufreq_directory_without_policies_is_a_machine_without_cpufreq() {
    let host = Host::new("intel-2s-icelake", |machine| {
        for policy in 0..8 {
            machine.remove(&format!("{POLICY}{policy}"));
        }
    });
    host.scrape();
    assert_eq!(host.state("cpufreq"), State::Absent);
    // A driver that is loaded later is found.
    for (file, text) in [
        ("affected_cpus", "0\n"),
        ("scaling_cur_freq", "800000\n"),
        ("scaling_governor", "schedutil\n"),
        ("scaling_driver", "cppc_cpufreq\n"),
    ] {
        host.machine.write(&format!("{POLICY}0/{file}"), text);
    }
    assert_eq!(
        host.scrape()["wakelag_cpu_scaling_frequency_hertz{cpu=\"0\"}"],
        800_000_000.0
    );
}

/// Turning boost on or off moves the maximum of intel_pstate and acpi-cpufreq.
#[test]
fn the_highest_frequency_follows_boost() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    host.machine
        .write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    host.machine
        .write(&format!("{POLICY}0/cpuinfo_max_freq"), "2600000\n");
    assert_eq!(
        host.scrape()["wakelag_cpu_frequency_max_hertz{cpu=\"0\"}"],
        2_600_000_000.0
    );
}

#[test]
fn a_policy_whose_driver_has_no_table_has_no_stats() {
    let host = Host::new("intel-2s-icelake", |_| {});
    assert_eq!(
        starting(&host.scrape(), "wakelag_cpu_frequency_transitions_total"),
        []
    );
    let broken = Host::new("intel-2s-icelake", |machine| {
        machine.write(&format!("{POLICY}0/stats/total_trans"), "many\n");
        machine.write(
            &format!("{POLICY}0/stats/time_in_state"),
            "18446744073709551615 1\n",
        );
    });
    for scrapes in 1..4 {
        let series = broken.scrape();
        assert_eq!(
            starting(&series, "wakelag_cpu_frequency_state_seconds_total"),
            []
        );
        assert_eq!(
            starting(&series, "wakelag_cpu_scaling_frequency_hertz").len(),
            8
        );
        let errors = series["wakelag_scrape_errors_total{collector=\"cpufreq\",reason=\"parse\"}"];
        assert_eq!(errors, f64::from(2 * scrapes));
        assert_eq!(
            series["wakelag_scrape_errors_total{collector=\"cpufreq\",reason=\"panic\"}"],
            0.0
        );
    }
}

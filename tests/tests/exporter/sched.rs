//! Tunables of the scheduler by kernel, and the CPUs it may use.

use exporter::collector::State;

use crate::series::{Host, Series, starting};

const CPU: &str = "sys/devices/system/cpu";

fn tunable(series: &Series, name: &str) -> Option<f64> {
    series.get(&format!("wakelag_sched_{name}")).copied()
}

#[test]
fn each_kernel_has_the_tunables_it_has() {
    let eevdf = Host::new("kernel-6.14", |_| {}).scrape();
    assert_eq!(tunable(&eevdf, "base_slice_seconds"), Some(0.003));
    assert_eq!(tunable(&eevdf, "latency_seconds"), None);
    assert_eq!(tunable(&eevdf, "migration_cost_seconds"), Some(0.0005));
    assert_eq!(tunable(&eevdf, "migrate_tasks"), Some(32.0));
    let cfs = Host::new("intel-2s-icelake", |_| {}).scrape();
    assert_eq!(tunable(&cfs, "base_slice_seconds"), None);
    assert_eq!(tunable(&cfs, "latency_seconds"), Some(0.024));
    assert_eq!(tunable(&cfs, "wakeup_granularity_seconds"), Some(0.004));
}

/// Linux 5.10 has them under `/proc/sys`.
#[test]
fn an_older_kernel_has_them_as_sysctls() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.remove("sys/kernel/debug");
        machine.write("proc/sys/kernel/sched_latency_ns", "18000000\n");
        machine.write("proc/sys/kernel/sched_migration_cost_ns", "500000\n");
    });
    let series = host.scrape();
    assert_eq!(tunable(&series, "latency_seconds"), Some(0.018));
    assert_eq!(tunable(&series, "migration_cost_seconds"), Some(0.0005));
    assert_eq!(tunable(&series, "min_granularity_seconds"), None);
    assert_eq!(host.state("sched"), State::Ok);
}

#[test]
fn real_time_without_a_limit_has_none() {
    let host = Host::new("kernel-6.14", |_| {});
    assert_eq!(tunable(&host.scrape(), "rt_runtime_seconds"), Some(0.95));
    host.machine
        .write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
    assert_eq!(tunable(&host.scrape(), "rt_runtime_seconds"), None);
    assert_eq!(host.state("sched"), State::Ok);
}

/// `cpu0/online` does not exist where CPU 0 cannot go offline; `cpu/online` says it all the same.
#[test]
fn every_present_cpu_is_online_or_not() {
    let host = Host::new("kernel-6.14", |machine| {
        machine.write(&format!("{CPU}/online"), "0,2-7\n");
    });
    let series = host.scrape();
    let online = |cpu: u32| series[&format!("wakelag_cpu_online{{cpu=\"{cpu}\"}}")];
    assert_eq!([0, 1, 2].map(online), [1.0, 0.0, 1.0]);
    assert_eq!(starting(&series, "wakelag_cpu_online").len(), 8);
}

#[test]
fn isolated_cpus_are_told_and_null_is_none() {
    let series = Host::new("kernel-6.14", |_| {}).scrape();
    let isolated = |cpu: u32| series[&format!("wakelag_cpu_isolated{{cpu=\"{cpu}\"}}")];
    assert_eq!([5, 6, 7].map(isolated), [0.0, 1.0, 0.0]);
    // `(null)`.
    let series = Host::new("intel-2s-icelake", |_| {}).scrape();
    let nohz_full = starting(&series, "wakelag_cpu_nohz_full");
    assert_eq!(nohz_full.len(), 8);
    assert!(nohz_full.iter().all(|(_, value)| *value == 0.0));
    let guest = Host::new("guest-empty", |_| {}).scrape();
    assert_eq!(starting(&guest, "wakelag_cpu_nohz_full"), []);
}

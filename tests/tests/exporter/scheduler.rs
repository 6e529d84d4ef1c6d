//! schedstat of all versions, /proc/stat and pressure.

use exporter::collector::State;

use crate::series::{Host, Series, label, starting};

const BALANCES: &str = "wakelag_sched_domain_balances_total";

/// A schedstat of one CPU with one domain whose n-th number is n, from 1.
fn schedstat(version: u32, domain: &str, numbers: u32) -> String {
    let numbers: Vec<String> = (1..=numbers).map(|n| n.to_string()).collect();
    format!(
        "version {version}\ntimestamp 4294892296\ncpu0 1 0 3 4 5 6 7000000000 8000000000 9\n{domain} {}\neas 1 2 3\n",
        numbers.join(" ")
    )
}

fn host(schedstat: &str) -> Host {
    Host::new("kernel-6.14", |machine| {
        machine.remove("proc/schedstat");
        machine.write("proc/schedstat", schedstat);
        machine.write("proc/sys/kernel/sched_schedstats", "1\n");
    })
}

/// Files of /proc/pressure with their text, the outcome, and what is published.
type PressureCase<'a> = (&'a [(&'a str, &'a str)], State, &'a [&'a str]);

fn cpu_fields(series: &Series) -> Vec<f64> {
    [
        "running_seconds",
        "waiting_seconds",
        "timeslices",
        "yields",
        "schedules",
        "schedules_idle",
        "wakeups",
        "wakeups_local",
    ]
    .map(|field| series[&format!("wakelag_schedstat_{field}_total{{cpu=\"0\"}}")])
    .to_vec()
}

#[test]
fn every_version_of_schedstat_gives_the_same_cpu_fields_and_its_own_order_of_idle_types() {
    let v15 = schedstat(15, "domain0 00000003", 36);
    let v16 = schedstat(16, "domain0 00000003", 36);
    let v17 = schedstat(17, "domain0 SMT 00000003", 45);
    for (text, name, idle, busy, newly, failed_busy) in [
        (v15, "", 1.0, 9.0, 17.0, 11.0),
        (v16, "", 9.0, 1.0, 17.0, 3.0),
        (v17, "SMT", 12.0, 1.0, 23.0, 3.0),
    ] {
        let host = host(&text);
        let series = host.scrape();
        assert_eq!(
            host.state("schedstat"),
            State::Ok,
            "{}",
            host.reason("schedstat")
        );
        assert_eq!(
            cpu_fields(&series),
            [7.0, 8.0, 9.0, 1.0, 3.0, 4.0, 5.0, 6.0]
        );
        let domain = |family: &str, idle_type: &str| {
            series[&format!(
                "wakelag_sched_domain_{family}_total{{domain=\"0\",name=\"{name}\",idle_type=\"{idle_type}\"}}"
            )]
        };
        assert_eq!(
            ["idle", "busy", "newly_idle"].map(|t| domain("balances", t)),
            [idle, busy, newly]
        );
        assert_eq!(domain("balance_failed", "busy"), failed_busy);
    }
}

#[test]
fn an_unknown_version_gives_its_cpu_lines_and_its_number() {
    let host = host(&schedstat(18, "domain0 SMT 00000003 new", 60));
    let series = host.scrape();
    assert_eq!(host.state("schedstat"), State::Ok);
    assert_eq!(series["wakelag_schedstat_version"], 18.0);
    assert_eq!(cpu_fields(&series).len(), 8);
    assert_eq!(starting(&series, "wakelag_sched_domain"), []);
}

#[test]
fn counts_that_do_not_count_are_left_out_and_the_switch_is_published() {
    let host = host(&schedstat(17, "domain0 SMT 00000003", 45));
    host.scrape();
    host.machine
        .write("proc/sys/kernel/sched_schedstats", "0\n");
    let series = host.scrape();
    assert_eq!(series["wakelag_schedstat_enabled"], 0.0);
    assert_eq!(
        series["wakelag_schedstat_running_seconds_total{cpu=\"0\"}"],
        7.0
    );
    assert_eq!(starting(&series, "wakelag_schedstat_wakeups"), []);
    assert_eq!(starting(&series, "wakelag_sched_domain"), []);
    host.machine
        .write("proc/sys/kernel/sched_schedstats", "1\n");
    assert_eq!(host.scrape()["wakelag_schedstat_enabled"], 1.0);
}

/// A CPU whose SMT sibling goes offline has its first domain at the next level, under the same number.
#[test]
fn sums_of_domains_do_not_go_back_when_a_domain_gets_another_name() {
    let host = host(&schedstat(17, "domain0 SMT 00000003", 45));
    let balances = |name: &str| {
        let series = host.scrape();
        let of = starting(&series, BALANCES).into_iter();
        let of = of.filter(|(series, _)| label(series, "name") == Some(name));
        of.map(|(_, count)| count).sum::<f64>()
    };
    let before = balances("SMT");
    host.machine
        .write("proc/schedstat", &schedstat(17, "domain0 MC 00000001", 45));
    assert_eq!(balances("SMT"), before);
    assert_eq!(balances("MC"), before);
    host.machine
        .write("proc/schedstat", &schedstat(17, "domain0 SMT 00000003", 45));
    assert_eq!(balances("SMT"), 2.0 * before);
}

#[test]
fn a_schedstat_that_is_not_there_is_absent() {
    let host = Host::new("guest-empty", |_| {});
    host.scrape();
    assert_eq!(host.state("schedstat"), State::Absent);
    assert_eq!(host.state("stat"), State::Ok);
}

#[test]
fn a_counter_of_32_bits_goes_on_behind_its_wrap() {
    let at = |yields: u64| format!("version 17\ntimestamp 1\ncpu0 {yields} 0 0 0 0 0 1 2 3\n");
    let host = host(&at(4_294_967_290));
    host.scrape();
    host.machine.write("proc/schedstat", &at(4));
    assert_eq!(
        host.scrape()["wakelag_schedstat_yields_total{cpu=\"0\"}"],
        4_294_967_300.0
    );
}

/// Which files there are and which lines they have depends on kernel and boot.
#[test]
fn pressure_publishes_what_the_kernel_has_of_it() {
    let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n";
    let full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n";
    let both = format!("{some}{full}");
    let cases: [PressureCase<'_>; 5] = [
        (&[], State::Absent, &[]),
        (&[("cpu", some)], State::Ok, &["cpu_waiting"]),
        (
            &[("cpu", &both), ("irq", full)],
            State::Ok,
            &["cpu_waiting", "irq_stalled"],
        ),
        (
            &[("cpu", some), ("io", &both), ("memory", &both)],
            State::Ok,
            &[
                "cpu_waiting",
                "io_stalled",
                "io_waiting",
                "memory_stalled",
                "memory_waiting",
            ],
        ),
        (
            &[("cpu", some), ("io", "")],
            State::Failed,
            &["cpu_waiting"],
        ),
    ];
    for (files, state, want) in cases {
        let host = Host::new("kernel-6.14", |machine| {
            machine.remove("proc/pressure");
            for (file, text) in files {
                machine.write(&format!("proc/pressure/{file}"), text);
            }
        });
        let series = host.scrape();
        assert_eq!(host.state("pressure"), state, "{files:?}");
        let found: Vec<_> = starting(&series, "wakelag_pressure_")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let want: Vec<_> = want
            .iter()
            .map(|name| format!("wakelag_pressure_{name}_seconds_total"))
            .collect();
        assert_eq!(found, want);
    }
}

#[test]
fn a_stat_without_cpus_is_a_failure() {
    for text in ["", "btime 1\n"] {
        let host = Host::new("kernel-6.14", |machine| {
            machine.remove("proc/stat");
            machine.write("proc/stat", text);
        });
        host.scrape();
        assert_eq!(host.state("stat"), State::Failed);
    }
}

#[test]
fn idle_time_does_not_step_back_when_cpus_come_and_go() {
    let stat = |lines: &str| format!("cpu 1 1 1 1\n{lines}ctxt 1\n");
    let host = Host::new("kernel-6.14", |machine| {
        machine.write(
            "proc/stat",
            &stat("cpu0 0 0 0 100\ncpu2 0 0 0 200\ncpu3 0 0 0 300\n"),
        )
    });
    host.scrape();
    host.machine.write(
        "proc/stat",
        &stat("cpu0 0 0 0 99\ncpu1 0 0 0 7\ncpu3 0 0 0 298\n"),
    );
    let series = host.scrape();
    let idle = |cpu| {
        series
            .get(&format!(
                "wakelag_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"idle\"}}"
            ))
            .copied()
    };
    assert_eq!(
        [0, 1, 2, 3].map(idle),
        [Some(1.0), Some(0.07), None, Some(3.0)]
    );
}

//! `--cardinality`: what is left of the label `cpu`, on whole machines.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use exporter::cardinality::Cardinality;
use tests::fixture::{self, Fixture};
use tests::program::binary;
use toolkit::metric::{Desc, Kind, Roll};
use toolkit::web::Site as _;

use crate::series::{Host, Series, label, series, starting};
use crate::support;

const CPU: &str = "sys/devices/system/cpu";
const ALL: [Cardinality; 3] = [Cardinality::Cpu, Cardinality::Package, Cardinality::Node];

fn flag(cardinality: Cardinality) -> String {
    format!("--cardinality={}", cardinality.name())
}

fn host(machine: &str, cardinality: Cardinality, change: impl FnOnce(&Fixture)) -> Host {
    Host::with_flags(machine, &[&flag(cardinality)], change)
}

/// Every metric with the label `cpu`.
fn metrics_by_cpu() -> Vec<&'static Desc> {
    let metrics = exporter::metrics().into_iter().map(|(_, desc)| desc);
    metrics
        .filter(|desc| desc.labels.contains(&"cpu"))
        .collect()
}

/// A series by CPU as it is called with `instead` of its CPU.
fn renamed(name: &str, instead: Option<&str>) -> String {
    let own = format!("cpu=\"{}\"", label(name, "cpu").unwrap());
    let instead = instead.map(|package| format!("package=\"{package}\""));
    match instead {
        Some(package) => name.replace(&own, &package),
        None => name
            .replace(&format!("{own},"), "")
            .replace(&format!("{{{own}}}"), ""),
    }
}

/// What `by_cpu` comes to, worked out from the series as they are published.
fn worked_out(by_cpu: &Series, package: impl Fn(&str) -> Option<String>) -> Series {
    let rolls: BTreeMap<_, _> = metrics_by_cpu()
        .iter()
        .map(|desc| (desc.name, desc.roll.unwrap()))
        .collect();
    let mut groups = BTreeMap::<String, Vec<f64>>::new();
    let mut roll_of = BTreeMap::new();
    for (name, value) in by_cpu {
        let metric = name.split('{').next().unwrap();
        if let Some(roll) = rolls.get(metric) {
            let package = package(label(name, "cpu").unwrap());
            let group = renamed(name, package.as_deref());
            roll_of.insert(group.clone(), *roll);
            groups.entry(group).or_default().push(*value);
        }
    }
    let one = |(group, values): (String, Vec<f64>)| {
        let value = match roll_of[&group] {
            Roll::Sum | Roll::Count => values.iter().sum(),
            Roll::Min => values.into_iter().fold(f64::INFINITY, f64::min),
            Roll::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        };
        (group, value)
    };
    groups.into_iter().map(one).collect()
}

fn assert_same(machine: &str, got: &Series, want: &Series) {
    let names = |series: &Series| series.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(got), names(want), "{machine}");
    for (name, want) in want {
        let got = got[name];
        assert!(
            (got - want).abs() <= 1e-9 * want.abs(),
            "{machine}: {name} {got} {want}"
        );
    }
}

/// The families that have a CPU each on a host that keeps the label.
fn rolled(series: &Series) -> Series {
    let names: BTreeSet<_> = metrics_by_cpu().iter().map(|desc| desc.name).collect();
    let of = |name: &str| names.contains(name.split('{').next().unwrap());
    let kept = series.iter().filter(|(name, _)| of(name));
    kept.map(|(name, value)| (name.clone(), *value)).collect()
}

#[test]
fn every_machine_gives_what_its_cpus_come_to() {
    let mut rolls = BTreeSet::new();
    for machine in fixture::machines() {
        let by_cpu = host(&machine, Cardinality::Cpu, |_| {}).scrape();
        let by_node = host(&machine, Cardinality::Node, |_| {}).scrape();
        assert_same(&machine, &rolled(&by_node), &worked_out(&by_cpu, |_| None));
        let fixture = fixture::unpack(&machine);
        let online = fixture.read(&format!("{CPU}/online"));
        let online = exporter::parse::cpu_list(&online).unwrap();
        let package = |cpu: &str| {
            let file = format!("{CPU}/cpu{cpu}/topology/physical_package_id");
            let known = online.contains(&cpu.parse().unwrap()) && fixture.path(&file).exists();
            Some(match known {
                true => fixture.read(&file).trim().to_owned(),
                false => String::new(),
            })
        };
        let by_package = host(&machine, Cardinality::Package, |_| {}).scrape();
        assert_same(
            &machine,
            &rolled(&by_package),
            &worked_out(&by_cpu, package),
        );
        for other in [by_node, by_package] {
            let rest = |all: &Series| {
                let rolled = rolled(all);
                let rest = all.keys().filter(|name| !rolled.contains_key(*name));
                rest.cloned().collect::<Vec<_>>()
            };
            assert_eq!(rest(&other), rest(&by_cpu), "{machine}");
            assert!(other.keys().all(|name| label(name, "cpu").is_none()));
        }
        let published = metrics_by_cpu().into_iter();
        let published = published.filter(|desc| !starting(&by_cpu, desc.name).is_empty());
        rolls.extend(published.map(|desc| desc.roll.unwrap().word()));
    }
    assert_eq!(rolls, BTreeSet::from(["count", "max", "min", "sum"]));
}

#[test]
fn a_cpu_that_goes_offline_does_not_take_a_sum_back() {
    const ONE: &str = "wakelag_cpuidle_state_entries_total{package=\"1\",state=\"1\",name=\"C1\"}";
    let host = host("intel-2s-icelake", Cardinality::Package, |_| {});
    let usage = |cpu: u32| format!("{CPU}/cpu{cpu}/cpuidle/state1/usage");
    let add = |cpu: u32, more: u64| {
        let usage = usage(cpu);
        let count: u64 = host.machine.read(&usage).trim().parse().unwrap();
        host.machine.write(&usage, &format!("{}\n", count + more));
    };
    let before = host.scrape();
    let online = |series: &Series| series["wakelag_cpu_online{package=\"1\"}"];
    assert_eq!(online(&before), 4.0);
    let list = host.machine.read(&format!("{CPU}/online"));

    // CPU 3 goes, of package 1; the others of it count on.
    host.machine.write(&format!("{CPU}/online"), "0-2,4-7\n");
    add(2, 5);
    let without = host.scrape();
    assert_eq!(without[ONE], before[ONE] + 5.0);
    assert_eq!(online(&without), 3.0);
    assert!(!without.contains_key("wakelag_cpu_online{package=\"\"}"));

    // It is back and starts at 0, as a CPU does whose idle driver registers anew.
    host.machine.write(&usage(3), "0\n");
    host.machine.write(&format!("{CPU}/online"), &list);
    assert_eq!(host.scrape()[ONE], before[ONE] + 5.0);
    add(3, 2);
    assert_eq!(host.scrape()[ONE], before[ONE] + 7.0);
}

#[test]
fn a_cpu_that_comes_online_later_joins_its_package() {
    let host = host("intel-2s-icelake", Cardinality::Package, |machine| {
        machine.write(&format!("{CPU}/online"), "0-6\n");
    });
    let online = |package: &str| {
        let name = format!("wakelag_cpu_online{{package=\"{package}\"}}");
        host.scrape().get(&name).copied()
    };
    assert_eq!((online("1"), online("")), (Some(3.0), Some(0.0)));
    host.machine.write(&format!("{CPU}/online"), "0-7\n");
    assert_eq!((online("1"), online("")), (Some(4.0), None));
}

#[test]
fn cpus_without_a_package_are_published_all_the_same() {
    let host = host("intel-2s-icelake", Cardinality::Package, |machine| {
        for cpu in 0..8 {
            let file = format!("{CPU}/cpu{cpu}/topology/physical_package_id");
            machine.write(&file, if cpu < 4 { "-1\n" } else { "broken\n" });
        }
    });
    assert_eq!(host.scrape()["wakelag_cpu_online{package=\"\"}"], 8.0);
}

/// Series of an answer that are there once for each CPU, core, package and host.
fn budget(cpus: usize, cardinality: Cardinality) -> [usize; 4] {
    let machine = fixture::big(cpus);
    let exporter = support::exporter_of(&machine, &[&flag(cardinality)]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let families = runtime.block_on(exporter.metrics(Vec::new())).unwrap();
    let mut counts = [0; 4];
    for sample in families.iter().flat_map(|family| family.samples()) {
        let names: Vec<_> = sample.labels().map(|(name, _)| name).collect();
        let level = ["cpu", "core", "package"];
        let level = level.iter().position(|level| names.contains(level));
        counts[level.unwrap_or(3)] += 1;
    }
    let each = [cpus, cpus / 2, 2, 1];
    let level = |level: usize| {
        assert_eq!(counts[level] % each[level], 0, "{cpus} CPUs: {counts:?}");
        counts[level] / each[level]
    };
    [level(0), level(1), level(2), level(3)]
}

#[test]
fn the_help_says_how_many_series_a_host_has() {
    let help = Command::new(binary("wakelag-exporter"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let table = help
        .lines()
        .skip_while(|line| !line.contains("a CPU  a core"));
    let table: Vec<_> = table.take(4).collect();
    let (heads, lines) = table.split_first().expect("a table of series");
    let heads: Vec<_> = heads
        .split("  ")
        .map(str::trim)
        .filter(|h| !h.is_empty())
        .collect();
    assert_eq!(
        heads,
        ["--cardinality", "a CPU", "a core", "a package", "the host"]
    );
    let want = ALL.map(|cardinality| {
        let figures = budget(16, cardinality);
        assert_eq!(budget(64, cardinality), figures, "{cardinality:?}");
        let [cpu, core, package, host] = figures;
        format!("{} {cpu} {core} {package} {host}", cardinality.name())
    });
    let said = lines.iter().map(|line| line.split_whitespace());
    let said: Vec<_> = said
        .map(|words| words.collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(said, want);
}

#[test]
fn only_counters_and_gauges_have_a_cpu() {
    for desc in metrics_by_cpu() {
        assert_ne!(desc.kind, Kind::Histogram, "{}", desc.name);
    }
}

/// A flag that is not given changes nothing.
#[test]
fn the_default_keeps_the_cpu() {
    let machine = fixture::unpack("intel-2s-icelake");
    let plain = series(&support::scrape(&support::exporter(&machine)));
    let by_cpu = host("intel-2s-icelake", Cardinality::Cpu, |_| {}).scrape();
    assert_eq!(
        plain.keys().collect::<Vec<_>>(),
        by_cpu.keys().collect::<Vec<_>>()
    );
}

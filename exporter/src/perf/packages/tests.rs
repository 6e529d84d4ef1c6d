use ::tests::fixture::{self, Fixture};
use nix::errno::Errno;

use super::*;
use crate::perf::fake::{Fake, describe, root};

/// A machine of two packages whose CPUs 0 and 1 count `a` and `b`.
struct Host {
    machine: Fixture,
    root: Root,
    kernel: Fake,
    packages: Packages,
}

impl Host {
    fn new(cpus: &[(u32, &str, &str)]) -> Self {
        let machine = Fixture::empty();
        for (cpu, package, die) in cpus {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            machine.write(
                &format!("{topology}/physical_package_id"),
                &format!("{package}\n"),
            );
            machine.write(&format!("{topology}/die_id"), &format!("{die}\n"));
        }
        let list: Vec<_> = cpus.iter().map(|(cpu, ..)| cpu.to_string()).collect();
        describe(
            &machine,
            "pmu",
            9,
            &list.join(","),
            &[("a", 1), ("b", 2), ("other", 3)],
        );
        let (root, kernel) = (root(&machine), Fake::default());
        let wanted = |event: &str| event.len() == 1;
        let packages = Packages::new("pmu", wanted, Box::new(kernel.clone()));
        Host {
            machine,
            root,
            kernel,
            packages,
        }
    }

    /// What was counted, as `package.die event=count`.
    fn read(&mut self) -> Vec<String> {
        let counts = self.packages.read(&self.root).unwrap();
        let text = |c: Count| {
            format!(
                "{}.{} {}={}",
                c.place.package, c.place.die, c.event, c.count
            )
        };
        counts.into_iter().map(text).collect()
    }

    fn mask(&self, cpus: &str) {
        self.machine
            .write(&format!("sys/{}/pmu/cpumask", super::super::DEVICES), cpus);
    }
}

const TWO: [(u32, &str, &str); 2] = [(0, "0", "0"), (1, "1", "0")];

#[test]
fn a_package_is_one_group_that_stays_open_and_is_read_once_a_time() {
    let mut host = Host::new(&TWO);
    assert_eq!(host.read(), ["0. a=0", "0. b=0", "1. a=0", "1. b=0"]);
    host.kernel.count(0, 1, 10);
    host.kernel.count(1, 2, 7);
    assert_eq!(host.read(), ["0. a=10", "0. b=0", "1. a=0", "1. b=7"]);
    let state = host.kernel.state();
    assert_eq!(state.opened, [(9, vec![1, 2], 0), (9, vec![1, 2], 1)]);
    assert_eq!(state.reads, 4);
}

#[test]
fn dies_are_said_where_a_package_has_several() {
    let mut host = Host::new(&[(0, "0", "0"), (4, "0", "1"), (8, "1", "0")]);
    assert_eq!(
        host.read(),
        [
            "0.0 a=0", "0.0 b=0", "0.1 a=0", "0.1 b=0", "1. a=0", "1. b=0"
        ]
    );
}

#[test]
fn a_package_that_goes_and_comes_back_goes_on_and_the_other_is_not_opened_again() {
    let mut host = Host::new(&TWO);
    host.read();
    host.kernel.count(1, 1, 5);
    host.read();
    host.mask("0\n");
    assert_eq!(host.read(), ["0. a=0", "0. b=0"]);
    assert_eq!(host.kernel.state().open, 1);
    host.mask("0,1\n");
    host.kernel.count(1, 1, 100);
    host.read();
    host.kernel.count(1, 1, 3);
    assert_eq!(host.read()[2], "1. a=8");
    assert_eq!(host.kernel.state().opened.len(), 3);
}

/// The kernel moves events to another CPU of the package when theirs goes offline.
#[test]
fn a_package_that_gets_another_cpu_is_not_opened_again() {
    let mut host = Host::new(&TWO);
    host.read();
    let topology = "sys/devices/system/cpu/cpu3/topology/physical_package_id";
    host.machine.write(topology, "1\n");
    host.mask("0,3\n");
    assert_eq!(host.read().len(), 4);
    assert_eq!(host.kernel.state().opened.len(), 2);
}

#[test]
fn a_group_that_cannot_be_read_is_opened_again_and_goes_on() {
    let mut host = Host::new(&TWO);
    host.read();
    host.kernel.count(0, 1, 5);
    host.read();
    host.kernel.state().fails = Some(Errno::ENODEV);
    assert!(host.read().is_empty());
    assert_eq!(host.root.take_tolerated().len(), 2);
    host.kernel.state().fails = None;
    assert_eq!(host.read()[0], "0. a=5");
    host.kernel.count(0, 1, 2);
    assert_eq!(host.read()[0], "0. a=7");
    assert_eq!(host.root.take_tolerated(), []);
}

#[test]
fn what_may_not_be_counted_is_an_error_until_it_may() {
    let mut host = Host::new(&TWO);
    host.kernel.state().refuses = Some(Errno::EACCES);
    for _ in 0..2 {
        let error = host.packages.read(&host.root).unwrap_err();
        assert_eq!(error.errno(), Some(Errno::EACCES));
        assert!(
            error.to_string().contains("event_source/devices/pmu: "),
            "{error}"
        );
    }
    host.kernel.state().refuses = None;
    assert_eq!(host.read().len(), 4);
}

#[test]
fn a_cpu_without_topology_costs_its_own_package() {
    let mut host = Host::new(&TWO);
    host.machine.remove("sys/devices/system/cpu/cpu1/topology");
    for _ in 0..2 {
        assert_eq!(host.read(), ["0. a=0", "0. b=0"]);
        assert_eq!(host.root.take_tolerated().len(), 1);
    }
}

#[test]
fn a_machine_without_the_pmu_or_its_events_has_none() {
    let machine = fixture::unpack("guest-empty");
    let root = root(&machine);
    let mut packages = Packages::new("pmu", |_| true, Box::new(Fake::default()));
    let errno = |packages: &mut Packages| packages.read(&root).unwrap_err().errno();
    assert_eq!(errno(&mut packages), Some(Errno::ENOENT));
    describe(&machine, "pmu", 9, "0", &[("a.scale", 1), ("a.unit", 1)]);
    assert_eq!(errno(&mut packages), Some(Errno::ENXIO));
}

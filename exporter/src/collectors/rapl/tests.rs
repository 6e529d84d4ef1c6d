use ::tests::fixture::{self, Fixture};
use nix::errno::Errno;
use toolkit::metric::Family;

use super::*;
use crate::perf::DEVICES;
use crate::perf::fake::{Fake, describe, root};

const JOULE: u64 = 1 << 32;
const EVENTS: [(&str, u64); 3] = [("energy-pkg", 2), ("energy-ram", 3), ("energy-psys", 5)];

/// A machine with powercap and the PMU, and a kernel that counts.
struct Host {
    machine: Fixture,
    kernel: Fake,
    root: Root,
    rapl: Rapl,
}

impl Host {
    fn new(source: Source) -> Self {
        let machine = fixture::unpack("intel-2s-icelake");
        for (cpu, package) in [(0, "0\n"), (4, "1\n")] {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            machine.write(&format!("{topology}/physical_package_id"), package);
        }
        describe(&machine, "power", 9, "0,4", &EVENTS);
        for (event, _) in EVENTS {
            let file = format!("sys/{DEVICES}/power/events/{event}");
            machine.write(&format!("{file}.scale"), "2.3283064365386962890625e-10\n");
            machine.write(&format!("{file}.unit"), "Joules\n");
        }
        let (kernel, root) = (Fake::default(), root(&machine));
        Host {
            machine,
            rapl: Rapl::with(source, Box::new(kernel.clone())),
            kernel,
            root,
        }
    }

    /// Spends energy, as a package does while its counters are looked at for the first time.
    fn start(source: Source) -> Self {
        let mut host = Host::new(source);
        let kernel = host.kernel.clone();
        let spend = move || {
            while kernel.state().reads == 0 {
                std::thread::yield_now();
            }
            for cpu in [0, 4] {
                kernel.count(cpu, 2, JOULE);
                kernel.count(cpu, 3, JOULE);
            }
        };
        let spends = std::thread::spawn(spend);
        host.rapl.read(&host.root).unwrap();
        spends.join().unwrap();
        host
    }

    fn families(&mut self) -> Result<Vec<Family>, Error> {
        let reading = self.rapl.read(&self.root)?;
        let mut out = Sink::new();
        self.rapl.emit(reading, &mut out);
        Ok(out.into_families())
    }

    /// Energy by `control_type zone name package die`.
    fn energy(&mut self) -> Vec<(String, f64)> {
        let families = self.families().unwrap();
        let Some(energy) = toolkit::metric::family(&families, ENERGY.desc().name) else {
            return Vec::new();
        };
        let samples = energy.samples().map(|sample| {
            let labels = ENERGY.desc().labels.iter();
            let labels: Vec<_> = labels.map(|name| sample.label(name).unwrap()).collect();
            (labels.join(" "), sample.value().unwrap())
        });
        samples.collect()
    }

    fn control_types(&mut self) -> Vec<String> {
        let energy = self.energy().into_iter();
        let mut types: Vec<_> = energy
            .map(|(labels, _)| labels.split(' ').next().unwrap().to_owned())
            .collect();
        types.dedup();
        types
    }
}

#[test]
fn perf_has_the_names_of_powercap_and_joules_since_the_start() {
    let mut host = Host::start(Source::Perf);
    host.kernel.count(4, 3, JOULE / 2);
    let energy = host.energy();
    let expected = [
        ("perf power:0:energy-pkg package-0 0 ", 1.0),
        ("perf power:0:energy-ram dram 0 ", 1.0),
        ("perf power:1:energy-pkg package-1 1 ", 1.0),
        ("perf power:1:energy-ram dram 1 ", 1.5),
    ];
    assert_eq!(energy, expected.map(|(labels, j)| (labels.to_owned(), j)));
    // One read a package and time.
    assert_eq!(host.kernel.state().reads, 2 * 3);
}

/// On Sapphire Rapids the kernel has the domain psys without asking the machine whether it counts.
#[test]
fn a_domain_that_counts_nothing_has_no_series_until_it_counts() {
    let mut host = Host::start(Source::Perf);
    let psys = |host: &mut Host| {
        let energy = host.energy().into_iter();
        energy
            .filter(|(labels, _)| labels.contains("psys"))
            .collect::<Vec<_>>()
    };
    assert_eq!(psys(&mut host), []);
    host.kernel.count(0, 5, JOULE);
    host.kernel.count(4, 5, JOULE);
    let expected = [
        ("perf power:0:energy-psys psys  ", 1.0),
        ("perf power:1:energy-psys psys-1  ", 1.0),
    ];
    assert_eq!(
        psys(&mut host),
        expected.map(|(labels, j)| (labels.to_owned(), j))
    );
}

#[test]
fn auto_takes_perf_and_limits_from_powercap() {
    let mut host = Host::start(Source::Auto);
    assert_eq!(host.control_types(), ["perf"]);
    let families = host.families().unwrap();
    assert!(toolkit::metric::family(&families, limits::LIMIT.desc().name).is_some());
    assert_eq!(host.root.take_tolerated(), []);
}

#[test]
fn auto_takes_powercap_where_perf_is_denied_or_powercap_costs_nothing() {
    let mut denied = Host::new(Source::Auto);
    denied.kernel.state().refuses = Some(Errno::EACCES);
    assert_eq!(denied.control_types(), ["intel-rapl"]);
    assert_eq!(denied.root.take_tolerated(), []);
    // What it came from it stays with.
    denied.kernel.state().refuses = None;
    assert_eq!(denied.control_types(), ["intel-rapl"]);
    assert!(denied.kernel.state().opened.is_empty());
    let mut free = Host::new(Source::Auto);
    free.machine
        .write("sys/module/intel_rapl_tpmi/initstate", "live\n");
    assert_eq!(free.control_types(), ["intel-rapl"]);
    assert!(free.kernel.state().opened.is_empty());
}

#[test]
fn auto_takes_perf_where_powercap_is_not_there_or_goes() {
    let mut host = Host::new(Source::Auto);
    host.kernel.state().refuses = Some(Errno::EACCES);
    assert_eq!(host.control_types(), ["intel-rapl"]);
    host.machine.remove("sys/class/powercap");
    let error = host.families().unwrap_err();
    assert!(error.to_string().contains("powercap"), "{error}");
    let mut host = Host::start(Source::Auto);
    host.machine.remove("sys/class/powercap");
    assert_eq!(host.control_types(), ["perf"]);
}

#[test]
fn a_pmu_that_counts_nothing_is_left_alone_by_auto_and_absent_for_who_asks_for_it() {
    let mut auto = Host::new(Source::Auto);
    for _ in 0..3 {
        assert_eq!(auto.control_types(), ["intel-rapl"]);
    }
    assert_eq!(auto.kernel.state().open, 0);
    assert_eq!(auto.kernel.state().reads, 4, "looked at twice, a package");
    let mut guest = Host::new(Source::Auto);
    guest.machine.remove("sys/class/powercap");
    assert_eq!(guest.families().unwrap_err().errno(), Some(Errno::ENOENT));
    let mut asked = Host::new(Source::Perf);
    let error = asked.families().unwrap_err();
    assert_eq!(error.errno(), Some(Errno::ENXIO));
    assert!(
        error.to_string().contains("event_source/devices/power"),
        "{error}"
    );
}

#[test]
fn perf_that_is_asked_for_and_denied_says_so_and_powercap_is_not_read_instead() {
    let mut host = Host::new(Source::Perf);
    host.kernel.state().refuses = Some(Errno::EACCES);
    assert_eq!(host.families().unwrap_err().errno(), Some(Errno::EACCES));
    let mut powercap = Host::new(Source::Powercap);
    assert_eq!(powercap.control_types(), ["intel-rapl"]);
    assert!(powercap.kernel.state().opened.is_empty());
}

#[test]
fn an_event_without_a_scale_costs_its_own_series() {
    let mut host = Host::new(Source::Perf);
    let unit = format!("sys/{DEVICES}/power/events/energy-ram.unit");
    host.machine.write(&unit, "Apples\n");
    host.rapl.read(&host.root).unwrap_err();
    host.kernel.count(0, 2, JOULE);
    host.kernel.count(0, 3, JOULE);
    let energy = host.energy();
    assert_eq!(
        energy,
        [("perf power:0:energy-pkg package-0 0 ".to_owned(), 1.0)]
    );
    assert_eq!(host.root.take_tolerated().len(), 1);
}

#[test]
fn energy_of_perf_is_summed_by_package_and_memory_and_psys_beside_them() {
    let mut host = Host::start(Source::Auto);
    host.kernel.count(0, 1, JOULE);
    let families = host.families().unwrap();
    let energy = toolkit::metric::family(&families, ENERGY.desc().name).unwrap();
    let all: Vec<_> = energy.samples().collect();
    assert!(all.len() == 4 && all.iter().all(|zone| counts_once(*zone, &all)));
}

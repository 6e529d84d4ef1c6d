//! What a scrape costs: CPU time, wall time, reads and bytes, over generated machines of some sizes, in steady state.
//!
//! `cargo bench -p exporter` takes 16 and 256 CPUs; `cargo bench -p exporter -- 64 1024` takes others. A scrape here is
//! all that `/metrics` does but HTTP: collect, merge, encode. Files are ordinary ones, not the kernel's: what the kernel
//! spends on making their text is not in these figures. `reads` counts the process's read system calls (`syscr` of
//! `/proc/self/io`), which are all that steady state has but for the process's own metrics. `check ms` is the CPU time of a
//! look for changed settings, of which `--profile.check-interval` makes one a second where it takes up to 0.5 ms.
#![allow(clippy::unwrap_used)] // a benchmark that cannot run has nothing else to say

use std::time::{Duration, Instant};

use exporter::args::Kernel;
use exporter::collectors::{COLLECTORS, Flags};
use exporter::scrape::Selection;
use exporter::site::Exporter;
use nix::sys::resource::{UsageWho, getrusage};
use tests::fixture;
use toolkit::exposition;
use toolkit::web::Site as _;

const DEFAULT_CPUS: [usize; 2] = [16, 256];
/// Scrapes a machine, after the first two, which open the files.
const SCRAPES: u32 = 50;

fn main() {
    // Cargo hands `--bench` in.
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut sizes: Vec<usize> = arguments.map(|cpus| cpus.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes = DEFAULT_CPUS.to_vec();
    }
    println!(
        "{:>6} {:>8} {:>10} {:>10} {:>10} {:>8} {:>9}",
        "CPUs", "series", "bytes", "CPU ms", "wall ms", "reads", "check ms"
    );
    for cpus in sizes {
        measure(cpus);
    }
}

fn measure(cpus: usize) {
    let machine = fixture::big(cpus);
    let kernel = Kernel {
        procfs: machine.procfs(),
        sysfs: machine.sysfs(),
        devfs: machine.devfs(),
        check_interval: Duration::ZERO,
        node_name: None,
        timeout: Duration::from_secs(60),
        collectors: Flags::default(),
    };
    let on: Vec<_> = COLLECTORS
        .iter()
        .filter(|entry| entry.info.default_on)
        .collect();
    let exporter = Exporter::new(&kernel, &on);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let scrape = || {
        let families = runtime.block_on(exporter.metrics(Vec::new())).unwrap();
        let series: usize = families.iter().map(|family| family.samples().len()).sum();
        (series, exposition::text(&families).len())
    };
    scrape();
    let (series, bytes) = scrape();
    let (reads, cpu, wall) = (reads_so_far(), cpu_seconds(), Instant::now());
    for _ in 0..SCRAPES {
        std::hint::black_box(scrape());
    }
    let each = 1e3 / f64::from(SCRAPES);
    let wall_ms = wall.elapsed().as_secs_f64() * each;
    let cpu_ms = (cpu_seconds() - cpu) * each;
    let reads = (reads_so_far() - reads) / u64::from(SCRAPES);
    let cpu = cpu_seconds();
    for _ in 0..SCRAPES {
        let settings = Selection::Only(vec!["settings".to_owned()]);
        std::hint::black_box(runtime.block_on(exporter.scrape(settings)).unwrap());
    }
    let check_ms = (cpu_seconds() - cpu) * each;
    println!(
        "{cpus:>6} {series:>8} {bytes:>10} {cpu_ms:>10.2} {wall_ms:>10.2} {reads:>8} {check_ms:>9.2}"
    );
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

fn reads_so_far() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let reads = io.lines().find_map(|line| line.strip_prefix("syscr: "));
    reads.unwrap().parse().unwrap()
}

//! wakelag-exporter with all its default collectors beside node_exporter with those that read the same files: CPU time,
//! memory and system calls a scrape, by the number of CPUs.
//!
//! `cargo bench -p exporter --bench node_exporter` takes 16, 64, 256, 512 and 1024 CPUs, other sizes come as arguments:
//! `-- 16 256`. Needs Debian's packages prometheus-node-exporter and strace. Both programs serve the same generated
//! machine over HTTP and are scraped in turn (ABBA), `ROUNDS` times (4); their ratio counts, absolute times say more of
//! the machine. CPU time is that of the whole process, with its HTTP server, and of no other.
//!
//! `us/CPU` is our CPU time for each CPU of the machine, `growth` that against the smallest machine. `calls` are all
//! system calls of ours in a scrape, over `files`: the kernel files that stay open, of which each is to be read once.
#![allow(clippy::unwrap_used)] // a benchmark that cannot run has nothing else to say

use std::process::Command;

use tests::fixture::{self, Fixture};
use tests::program::{Program, free_port};
use tests::scraped::Scraped;

const DEFAULT_CPUS: [usize; 5] = [16, 64, 256, 512, 1024];
const COLLECTORS: [&str; 6] = ["cpu", "cpufreq", "rapl", "schedstat", "stat", "pressure"];
/// Scrapes before anything is counted: the first two open the files.
const WARM_UP: u32 = 4;

fn main() {
    // Cargo hands `--bench` in.
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut sizes: Vec<usize> = arguments.map(|cpus| cpus.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes = DEFAULT_CPUS.to_vec();
    }
    let rounds: u32 = std::env::var("ROUNDS").map_or(4, |text| text.parse().unwrap());
    println!(
        "CPU time in ms and peak memory in MB of wakelag-exporter and node_exporter, {rounds} ABBA rounds"
    );
    println!(
        "{:>5} | {:>7} {:>7} | {:>8} {:>8} {:>6} | {:>7} {:>7} | {:>6} {:>6} | {:>6} {:>6} {:>6}",
        "CPUs",
        "series",
        "theirs",
        "CPU",
        "theirs",
        "ratio",
        "us/CPU",
        "growth",
        "RSS",
        "theirs",
        "calls",
        "files",
        "ratio"
    );
    let mut smallest = None;
    for cpus in sizes {
        let machine = fixture::big(cpus);
        let (mut ours, mut theirs) = (ours(&machine), theirs(&machine));
        // About as long at each size.
        let scrapes = u32::try_from(4096 / cpus).unwrap().clamp(8, 100);
        let (mut our_ms, mut their_ms) = (0.0, 0.0);
        for _ in 0..rounds {
            our_ms += ours.cpu_ms(scrapes);
            their_ms += theirs.cpu_ms(scrapes);
            their_ms += theirs.cpu_ms(scrapes);
            our_ms += ours.cpu_ms(scrapes);
        }
        let turns = f64::from(2 * rounds);
        let (our_ms, their_ms) = (our_ms / turns, their_ms / turns);
        let each_us = our_ms * 1e3 / cpus as f64;
        let first = *smallest.get_or_insert(each_us);
        let (calls, files) = (ours.system_calls(), ours.files_under(machine.root()));
        println!(
            "{cpus:>5} | {:>7} {:>7} | {our_ms:>8.2} {their_ms:>8.2} {:>6.3} | {each_us:>7.1} {:>7.2} | {:>6.1} {:>6.1} | {calls:>6.0} {files:>6} {:>6.3}",
            ours.series(),
            theirs.series(),
            our_ms / their_ms,
            each_us / first,
            ours.peak_mb(),
            theirs.peak_mb(),
            calls / files as f64,
        );
    }
}

fn ours(machine: &Fixture) -> Scraped {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wakelag-exporter"));
    command.args(roots(machine));
    command.arg(format!("--path.devfs={}", machine.devfs().display()));
    command.arg("--web.listen-address=127.0.0.1:0");
    // A check of the settings between two scrapes is no part of a scrape.
    command.arg("--profile.check-interval=0");
    let mut program = Program::spawn("wakelag-exporter", command);
    let address = program.address();
    Scraped::new(program, &address, WARM_UP)
}

fn theirs(machine: &Fixture) -> Scraped {
    let address = format!("127.0.0.1:{}", free_port());
    let mut command = Command::new("prometheus-node-exporter");
    command.args(roots(machine));
    command.arg(format!("--web.listen-address={address}"));
    command.arg("--collector.disable-defaults");
    command.args(COLLECTORS.map(|name| format!("--collector.{name}")));
    let name = "prometheus-node-exporter, from Debian's package of that name";
    let program = Program::spawn(name, command);
    Scraped::new(program, &format!("http://{address}"), WARM_UP)
}

fn roots(machine: &Fixture) -> [String; 2] {
    [
        format!("--path.procfs={}", machine.procfs().display()),
        format!("--path.sysfs={}", machine.sysfs().display()),
    ]
}

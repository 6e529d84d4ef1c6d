//! wakelag-exporter with all its default collectors beside node_exporter with those that read the same files: CPU time,
//! memory and system calls a scrape, by the number of CPUs.
//!
//! `cargo bench -p exporter --bench node_exporter` takes 16, 64, 256, 512 and 1024 CPUs, other sizes come as arguments:
//! `-- 16 256`. Needs Debian's packages prometheus-node-exporter and strace. Both programs serve the same generated
//! machine over HTTP and are scraped in turn (ABBA), `ROUNDS` times (4); their ratio counts, absolute times say more of
//! the machine. CPU time is that of the whole process, with its HTTP server, and of no other.
//!
//! `floor` is the CPU time of a loop that reads each of our `files` once and does nothing else: no program that publishes
//! what is in them can be below it. `same` is our ratio with those collectors only that node_exporter has.
//! `us/CPU` is our CPU time for each CPU of the machine, `growth` that against the smallest machine. `calls` are all
//! system calls of ours in a scrape, over `files`: the kernel files that stay open, of which each is to be read once.
#![allow(clippy::unwrap_used)] // a benchmark that cannot run has nothing else to say

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Command;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tests::fixture::{self, Fixture};
use tests::program::{Program, free_port};
use tests::scraped::Scraped;

const DEFAULT_CPUS: [usize; 5] = [16, 64, 256, 512, 1024];
const COLLECTORS: [&str; 6] = ["cpu", "cpufreq", "rapl", "schedstat", "stat", "pressure"];
/// What is on by default and reads what node_exporter does not: idle states, settings, features, soft interrupts.
const OURS_ONLY: [&str; 4] = ["cpuidle", "settings", "sched", "softirqs"];
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
        "{:>5} | {:>7} {:>7} | {:>7} {:>7} {:>7} {:>6} {:>6} | {:>6} {:>6} | {:>6} {:>6} | {:>6} {:>6} {:>6}",
        "CPUs",
        "series",
        "theirs",
        "CPU",
        "theirs",
        "floor",
        "ratio",
        "same",
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
        let (mut ours, mut theirs) = (ours(&machine, &[]), theirs(&machine));
        let mut same = self::ours(&machine, &OURS_ONLY);
        // About as long at each size.
        let scrapes = u32::try_from(4096 / cpus).unwrap().clamp(8, 100);
        let files: Vec<File> = ours
            .open_files(|file| file.starts_with(machine.root()))
            .iter()
            .map(|file| File::open(file).unwrap())
            .collect();
        let mut sums = [0.0; 4];
        for _ in 0..rounds {
            for turn in [0, 1, 2, 3, 3, 2, 1, 0] {
                sums[turn] += match turn {
                    0 => ours.cpu_ms(scrapes),
                    1 => theirs.cpu_ms(scrapes),
                    2 => same.cpu_ms(scrapes),
                    _ => floor_ms(&files, scrapes),
                };
            }
        }
        let [our_ms, their_ms, same_ms, floor_ms] = sums.map(|sum| sum / f64::from(2 * rounds));
        let each_us = our_ms * 1e3 / cpus as f64;
        let first = *smallest.get_or_insert(each_us);
        let (calls, files) = (ours.system_calls(), files.len());
        println!(
            "{cpus:>5} | {:>7} {:>7} | {our_ms:>7.2} {their_ms:>7.2} {floor_ms:>7.2} {:>6.3} {:>6.3} | {each_us:>6.1} {:>6.2} | {:>6.1} {:>6.1} | {calls:>6.0} {files:>6} {:>6.3}",
            ours.series(),
            theirs.series(),
            our_ms / their_ms,
            same_ms / their_ms,
            each_us / first,
            ours.peak_mb(),
            theirs.peak_mb(),
            calls / files as f64,
        );
    }
}

fn ours(machine: &Fixture, without: &[&str]) -> Scraped {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wakelag-exporter"));
    command.args(roots(machine));
    command.arg(format!("--path.devfs={}", machine.devfs().display()));
    command.arg("--web.listen-address=127.0.0.1:0");
    command.args(without.iter().map(|name| format!("--no-collector.{name}")));
    // A check of the settings between two scrapes is no part of a scrape.
    command.arg("--profile.check-interval=0");
    let mut program = Program::spawn("wakelag-exporter", command);
    let address = program.address();
    Scraped::new(program, &address, WARM_UP)
}

/// CPU time of one read of each of `files`, in ms, over `times` rounds of them.
fn floor_ms(files: &[File], times: u32) -> f64 {
    let now = || Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap());
    let mut buffer = vec![0; 1 << 20];
    let before = now();
    for file in (0..times).flat_map(|_| files) {
        std::hint::black_box(file.read_at(&mut buffer, 0).unwrap());
    }
    (now() - before).as_secs_f64() * 1e3 / f64::from(times)
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

//! Whether an exporter that is scraped for long grows: threads, open files and memory of the real program.
//!
//! `cargo bench -p exporter --bench soak` scrapes a generated machine of 16 CPUs 100 000 times (a few minutes);
//! `-- 5000` another number of times. The figures of the first line are those after the first 100 scrapes.
#![allow(clippy::unwrap_used)] // a benchmark that cannot run has nothing else to say

use std::process::Command;

use tests::fixture;
use tests::program::Program;
use tests::scraped::Scraped;

const CPUS: usize = 16;
const WARM_UP: u32 = 100;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let scrapes: u32 = arguments
        .next()
        .map_or(100_000, |text| text.parse().unwrap());
    let machine = fixture::big(CPUS);
    let mut command = Command::new(env!("CARGO_BIN_EXE_wakelag-exporter"));
    command.arg(format!("--path.procfs={}", machine.procfs().display()));
    command.arg(format!("--path.sysfs={}", machine.sysfs().display()));
    command.arg(format!("--path.devfs={}", machine.devfs().display()));
    command.arg("--web.listen-address=127.0.0.1:0");
    let mut program = Program::spawn("wakelag-exporter", command);
    let address = program.address();
    let exporter = Scraped::new(program, &address, WARM_UP);
    println!(
        "{:>8} {:>8} {:>6} {:>8} {:>8}",
        "scrapes", "threads", "files", "RSS kB", "peak kB"
    );
    let print = |done: u32| {
        let (threads, files) = (
            exporter.status("Threads:"),
            exporter.open_files(|_| true).len(),
        );
        let (now, peak) = (exporter.status("VmRSS:"), exporter.status("VmHWM:"));
        println!("{done:>8} {threads:>8} {files:>6} {now:>8} {peak:>8}");
    };
    print(WARM_UP);
    for step in 1..=10 {
        exporter.scrape(scrapes / 10);
        print(WARM_UP + scrapes / 10 * step);
    }
}

//! A program that is scraped, and what the kernel says that its process has used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::http;
use crate::program::{PATIENCE, Program};
use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A program that serves `/metrics`.
#[derive(Debug)]
pub struct Scraped {
    program: Program,
    url: String,
}

impl Scraped {
    /// `program`, which serves at `address`, once it has answered `warm_up` scrapes.
    pub fn new(mut program: Program, address: &str, warm_up: u32) -> Self {
        let url = format!("{address}/metrics");
        program.wait_for("answer", |_| http::get(&url).ok());
        let scraped = Scraped { program, url };
        scraped.scrape(warm_up);
        scraped
    }

    /// Scrapes it `times` times.
    ///
    /// # Panics
    /// If it does not answer; so does everything here.
    pub fn scrape(&self, times: u32) {
        for _ in 0..times {
            http::get(&self.url).unwrap();
        }
    }

    /// CPU time of the whole process for a scrape, in ms, over `scrapes` of them.
    pub fn cpu_ms(&mut self, scrapes: u32) -> f64 {
        let clock = clock_getcpuclockid(self.pid()).unwrap();
        let now = || Duration::from(clock_gettime(clock).unwrap());
        let before = now();
        self.scrape(scrapes);
        (now() - before).as_secs_f64() * 1e3 / f64::from(scrapes)
    }

    /// Samples in an answer.
    pub fn series(&self) -> usize {
        let text = http::get(&self.url).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).count()
    }

    /// The most memory it has had so far, in MB.
    pub fn peak_mb(&self) -> f64 {
        self.status("VmHWM:") as f64 / 1e3
    }

    /// The figure of a line of its `/proc/PID/status`; memory in kB.
    pub fn status(&self, line: &str) -> u64 {
        let status = fs::read_to_string(self.proc("status")).unwrap();
        let figure = status.lines().find_map(|text| text.strip_prefix(line));
        figure
            .and_then(|text| text.split_whitespace().next())
            .unwrap()
            .parse()
            .unwrap()
    }

    /// The open files whose path `counts`.
    pub fn open_files(&self, counts: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let links = fs::read_dir(self.proc("fd")).unwrap();
        let targets = links.filter_map(|link| fs::read_link(link.unwrap().path()).ok());
        targets.filter(|target| counts(target)).collect()
    }

    /// System calls for a scrape, by strace.
    pub fn system_calls(&self) -> f64 {
        const SCRAPES: u32 = 4;
        let summary = tempfile::NamedTempFile::new().unwrap();
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-o"]).arg(summary.path());
        command.arg("-p").arg(self.program.pid().to_string());
        let mut strace = Program::spawn("strace, from Debian's package of that name", command);
        strace.wait_for("attached", |strace| {
            strace.log().contains("attached").then_some(())
        });
        self.scrape(SCRAPES);
        // An interrupt makes it detach and print its table.
        kill(
            Pid::from_raw(strace.pid().try_into().unwrap()),
            Signal::SIGINT,
        )
        .unwrap();
        let started = std::time::Instant::now();
        loop {
            let table = fs::read_to_string(summary.path()).unwrap();
            // The last line of the table: 100.00 seconds usecs/call calls [errors] total
            let total = table.lines().find(|line| line.ends_with("total"));
            if let Some(total) = total {
                let calls = total.split_whitespace().nth(3).unwrap();
                return calls.parse::<f64>().unwrap() / f64::from(SCRAPES);
            }
            assert!(started.elapsed() < PATIENCE, "no table of strace: {table}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.program.pid().try_into().unwrap())
    }

    fn proc(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.program.pid())
    }
}

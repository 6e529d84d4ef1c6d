//! Threads of chosen processes, which come and go and hide while they are read.

use std::fs;
use std::process::Command;

use exporter::collector::State;
use tests::fixture::{self, Fixture};
use tests::program::Program;

use crate::process::{scrape, start_without_rights, state};
use crate::series::{Host, Series, starting};

pub(crate) const POSTGRES: &str = "--collector.tasks.preset=postgres";
const MARIADB: &str = "--collector.tasks.preset=mariadbd";

pub(crate) fn host(flags: &[&str], change: impl FnOnce(&Fixture)) -> Host {
    Host::with_flags("kernel-6.14", flags, change)
}

pub(crate) fn of(series: &Series, family: &str, group: &str) -> f64 {
    series[&format!("wakelag_tasks_{family}{{group=\"{group}\"}}")]
}

fn running(series: &Series, group: &str) -> f64 {
    of(series, "running_seconds_total", group)
}

pub(crate) fn threads(series: &Series, group: &str, policy: &str) -> f64 {
    series[&format!("wakelag_tasks_threads{{group=\"{group}\",policy=\"{policy}\"}}")]
}

fn vanished(series: &Series) -> f64 {
    series["wakelag_tasks_vanished_total"]
}

/// Another process, of `threads` threads, as a copy of process 1207.
fn copy(machine: &Fixture, pid: u32, threads: u32) {
    for tid in pid..pid + threads {
        for file in ["sched", "schedstat", "status"] {
            let text = machine.read(&format!("proc/1207/task/1207/{file}"));
            machine.write(&format!("proc/{pid}/task/{tid}/{file}"), &text);
        }
        let stat = machine.read("proc/1207/task/1207/stat");
        let stat = stat.replace("1207", &pid.to_string());
        let stat = stat.replace(" 20 0 1 0 ", &format!(" 20 0 {threads} 0 "));
        machine.write(&format!("proc/{pid}/task/{tid}/stat"), &stat);
    }
}

#[test]
fn chrt_on_mysqld_safe_is_seen_to_miss_the_threads_of_the_server() {
    let unit = "--collector.tasks.group=unit:unit=mariadb.service";
    let server = host(&[MARIADB], |_| {}).scrape();
    assert_eq!(threads(&server, "mariadbd", "batch"), 1.0);
    assert_eq!(threads(&server, "mariadbd", "other"), 3.0);
    let both = host(&[unit], |_| {}).scrape();
    assert_eq!(of(&both, "processes", "unit"), 2.0);
    assert_eq!(threads(&both, "unit", "batch"), 2.0);
    assert_eq!(threads(&both, "unit", "other"), 3.0);
    let policies = starting(&both, "wakelag_tasks_threads{");
    assert_eq!(policies.len(), 7, "{policies:?}");
}

#[test]
fn a_thread_that_ends_takes_nothing_from_the_sums() {
    let host = host(&[MARIADB], |_| {});
    let first = host.scrape();
    host.machine.remove("proc/1660/task/1671");
    let second = host.scrape();
    for (name, before) in starting(&first, "wakelag_tasks_") {
        if name.contains("_total{") {
            assert_eq!(second[name], before, "{name}");
        }
    }
    assert_eq!(threads(&second, "mariadbd", "other"), 2.0);
    host.machine.remove("proc/1660");
    assert_eq!(
        running(&host.scrape(), "mariadbd"),
        running(&first, "mariadbd")
    );
}

#[test]
fn a_number_that_is_used_again_is_a_new_thread() {
    let host = host(&[POSTGRES], |_| {});
    let before = running(&host.scrape(), "postgres");
    let file = |name: &str| format!("proc/1207/task/1207/{name}");
    let stat = host
        .machine
        .read(&file("stat"))
        .replace(" 881217 ", " 9000000 ");
    host.machine.write(&file("stat"), &stat);
    host.machine.write(&file("schedstat"), "5000000000 0 1\n");
    let after = running(&host.scrape(), "postgres");
    assert!((after - before - 5.0).abs() < 1e-6, "{before} {after}");
    host.machine.write(&file("schedstat"), "7000000000 0 1\n");
    let after = running(&host.scrape(), "postgres");
    assert!((after - before - 7.0).abs() < 1e-6, "{before} {after}");
}

#[test]
fn what_ends_between_being_listed_and_being_read_is_passed_over_and_counted() {
    let host = host(&[POSTGRES, MARIADB], |machine| {
        // A process gone before its name is read, a thread gone before its first file, between two, and in mid-read.
        machine.remove("proc/1207/task/1207");
        machine.remove("proc/1660/task/1663/stat");
        machine.remove("proc/1660/task/1664/status");
        fs::write(machine.path("proc/1660/task/1671/stat"), "").unwrap();
    });
    let series = host.scrape();
    assert_eq!(host.unwell(), [""; 0]);
    assert_eq!(vanished(&series), 4.0);
    assert_eq!(of(&series, "processes", "postgres"), 2.0);
    assert_eq!(threads(&series, "mariadbd", "batch"), 1.0);
    assert_eq!(threads(&series, "mariadbd", "other"), 0.0);
    assert_eq!(vanished(&host.scrape()), 8.0);
}

#[test]
fn a_kernel_without_scheduler_statistics_has_what_is_left_and_no_false_zeros() {
    let host = host(&[POSTGRES], |machine| {
        for pid in [1042, 1051, 1207] {
            machine.remove(&format!("proc/{pid}/task/{pid}/sched"));
            machine.remove(&format!("proc/{pid}/task/{pid}/schedstat"));
        }
    });
    let series = host.scrape();
    assert_eq!((host.unwell(), vanished(&series)), (vec![], 0.0));
    for family in ["running", "waiting", "timeslices", "migrations", "slice"] {
        assert!(
            starting(&series, &format!("wakelag_tasks_{family}")).is_empty(),
            "{family}"
        );
    }
    assert_eq!(threads(&series, "postgres", "other"), 3.0);
}

#[test]
fn an_unreadable_file_of_a_thread_costs_that_thread() {
    for (file, text) in [
        ("stat", "1671 (x"),
        ("status", "Name:\tx\n"),
        ("sched", "se.slice : x\n"),
        ("schedstat", "1\n"),
    ] {
        let path = format!("proc/1660/task/1671/{file}");
        let host = host(&[MARIADB], |machine| {
            machine.remove(&path);
            machine.write(&path, text);
        });
        let series = host.scrape();
        assert_eq!(host.state("tasks"), State::Failed);
        assert!(
            host.reason("tasks").contains(&path),
            "{}",
            host.reason("tasks")
        );
        assert_eq!(threads(&series, "mariadbd", "other"), 2.0, "{file}");
    }
}

#[test]
fn the_number_of_threads_read_is_limited_and_what_is_left_out_is_said() {
    let flags = [POSTGRES, "--collector.tasks.max-threads=200"];
    let host = host(&flags, |machine| {
        for process in 0..100 {
            copy(machine, 10_000 + 100 * process, 5);
        }
    });
    let first = host.scrape();
    let read = |series: &Series| threads(series, "postgres", "other");
    assert_eq!(
        (read(&first), of(&first, "unread_threads", "postgres")),
        (200.0, 303.0)
    );
    assert_eq!(of(&first, "processes", "postgres"), 103.0);
    // No series a process or thread.
    let few = Host::with_flags("kernel-6.14", &[POSTGRES], |_| {}).scrape();
    assert_eq!(
        starting(&first, "wakelag_tasks_").len(),
        starting(&few, "wakelag_tasks_").len()
    );

    // Those that take the place of others bring no past with them, and nothing goes back.
    let mut before = running(&first, "postgres");
    for process in 0..3 {
        host.machine
            .remove(&format!("proc/{}", 10_000 + 100 * process));
        let series = host.scrape();
        assert_eq!(read(&series), 200.0);
        assert_eq!(running(&series, "postgres"), before);
        before = running(&series, "postgres");
    }
}

#[test]
fn processes_that_are_hidden_are_no_server_that_does_not_run() {
    // hidepid=2: only what belongs to the exporter is listed.
    let host = host(&[MARIADB], |machine| {
        for pid in [1, 2, 1533, 1660] {
            machine.remove(&format!("proc/{pid}"));
        }
    });
    let series = host.scrape();
    assert_eq!(of(&series, "processes", "mariadbd"), 0.0);
    assert_eq!(host.state("tasks"), State::Denied);
    assert!(host.reason("tasks").ends_with("proc/1: Permission denied"));
}

#[test]
fn processes_that_are_listed_and_cannot_be_read_leave_the_others() {
    // hidepid=1.
    let machine = fixture::unpack("kernel-6.14");
    for pid in [1, 1533, 1660] {
        machine.set_mode(&format!("proc/{pid}"), 0o700);
    }
    let mut program = start_without_rights(&machine, &[POSTGRES, MARIADB]);
    let address = program.address();
    for scrapes in 1..3 {
        let text = scrape(&address);
        assert_eq!(state(&text, "tasks"), "denied");
        assert!(text.contains("\nwakelag_tasks_processes{group=\"postgres\"} 3\n"));
        assert!(text.contains("\nwakelag_tasks_processes{group=\"mariadbd\"} 0\n"));
        let errors = format!("{{collector=\"tasks\",reason=\"EACCES\"}} {scrapes}\n");
        assert!(text.contains(&errors), "{text}");
    }
}

#[test]
fn a_real_kernel_says_how_a_real_thread_is_scheduled() {
    let mut sleeper = Command::new("chrt")
        .args(["--batch", "0", "sleep", "600"])
        .spawn()
        .unwrap();
    let pidfile = tempfile::NamedTempFile::new().unwrap();
    fs::write(pidfile.path(), sleeper.id().to_string()).unwrap();
    let group = format!(
        "--collector.tasks.group=own:pidfile={}",
        pidfile.path().display()
    );
    let mut program = Program::start(
        "wakelag-exporter",
        &["--web.listen-address=127.0.0.1:0", &group],
    );
    let url = program.address();
    let is_batch = "\nwakelag_tasks_threads{group=\"own\",policy=\"batch\"} 1\n";
    // It is chrt first.
    let text = program.wait_for("a thread of SCHED_BATCH", |_| {
        Some(scrape(&url)).filter(|text| text.contains(is_batch))
    });
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(state(&text, "tasks"), "ok");
    for family in [
        "allowed_cpus{group=\"own\",bound=\"min\"}",
        "context_switches_total{group=\"own\",type=\"voluntary\"}",
    ] {
        assert!(
            text.contains(&format!("\nwakelag_tasks_{family} ")),
            "{family}: {text}"
        );
    }
}

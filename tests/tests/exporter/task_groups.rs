//! Which processes are in a group, by each way to say so.

use std::fs;

use crate::series::starting;
use crate::tasks::{POSTGRES, host, of, threads};

#[test]
fn a_group_is_found_by_name_cgroup_unit_and_pid_file() {
    let pidfile = tempfile::NamedTempFile::new().unwrap();
    fs::write(pidfile.path(), "1042\n/var/lib/postgresql/17/main\n").unwrap();
    let forms = [
        "a:comm=postgres".to_owned(),
        "a:cgroup=/system.slice/system-postgresql.slice".to_owned(),
        "a:unit=postgresql@17-main.service".to_owned(),
        format!("a:pidfile={}", pidfile.path().display()),
    ];
    let found = forms.map(|form| {
        let host = host(&[&format!("--collector.tasks.group={form}")], |_| {});
        let mut series = host.scrape();
        assert_eq!(host.unwell(), [""; 0], "{form}");
        series.retain(|name, _| name.starts_with("wakelag_tasks_"));
        series
    });
    assert_eq!(of(&found[0], "processes", "a"), 3.0);
    assert!(found.iter().all(|series| *series == found[0]), "{found:?}");
}

#[test]
fn a_server_that_does_not_run_has_a_group_of_nothing() {
    for matcher in [
        "pidfile=/nonexistent/mysqld.pid",
        "comm=mysqld",
        "unit=mysql.service",
    ] {
        let host = host(&[&format!("--collector.tasks.group=my:{matcher}")], |_| {});
        let series = host.scrape();
        assert_eq!(host.unwell(), [""; 0], "{matcher}");
        assert_eq!(of(&series, "processes", "my"), 0.0);
        assert_eq!(threads(&series, "my", "other"), 0.0);
        assert!(starting(&series, "wakelag_tasks_slice").is_empty());
        assert!(starting(&series, "wakelag_tasks_allowed").is_empty());
    }
}

#[test]
fn a_process_counts_once_and_groups_of_one_name_are_one() {
    let host = host(
        &[
            "--collector.tasks.group=db:comm=mariadbd",
            "--collector.tasks.group=db:unit=postgresql@17-main.service",
            "--collector.tasks.group=rest:cgroup=/",
            POSTGRES,
        ],
        |_| {},
    );
    let series = host.scrape();
    assert_eq!(of(&series, "processes", "db"), 4.0);
    // systemd, mysqld_safe, (sd-pam); no thread of the kernel's.
    assert_eq!(of(&series, "processes", "rest"), 3.0);
    assert_eq!(of(&series, "processes", "postgres"), 0.0);
}

#[test]
fn a_name_with_blanks_and_parentheses_is_found() {
    let host = host(&["--collector.tasks.group=pam:comm=(sd-pam) a) b"], |_| {});
    let series = host.scrape();
    assert_eq!(of(&series, "processes", "pam"), 1.0);
    assert_eq!(of(&series, "timeslices_total", "pam"), 2.0);
}

#[test]
fn a_name_that_is_not_text_costs_nothing() {
    let host = host(&[POSTGRES], |machine| {
        let stat = machine.read("proc/1790/task/1790/stat").into_bytes();
        let odd: Vec<u8> = stat
            .iter()
            .map(|b| if *b == b'm' { 0xff } else { *b })
            .collect();
        fs::write(machine.path("proc/1790/task/1790/stat"), odd).unwrap();
    });
    assert_eq!(of(&host.scrape(), "processes", "postgres"), 3.0);
    assert_eq!(host.unwell(), [""; 0]);
}

//! Which processes are in a group, by each way to say so.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tests::fixture;
use tests::program::Program;
use toolkit::web::Site as _;

use crate::process::{scrape, start_without_rights, state};
use crate::series::{of_text, starting};
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

/// A file with groups, and the flag that names it.
fn file(text: &str) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let flag = format!("--collector.tasks.file={}", file.path().display());
    (file, flag)
}

#[test]
fn groups_of_a_file_come_behind_those_of_the_flags() {
    let (_file, flag) = file(
        "groups:\n- name: db\n  unit: postgresql@17-main.service\n  comm: mariadbd\n- name: rest\n  cgroup: /\n",
    );
    let alone = host(&[&flag], |_| {});
    let series = alone.scrape();
    assert_eq!(alone.unwell(), [""; 0]);
    assert_eq!(of(&series, "processes", "db"), 4.0);
    assert_eq!(of(&series, "processes", "rest"), 3.0);
    let series = host(&[&flag, POSTGRES], |_| {}).scrape();
    assert_eq!(of(&series, "processes", "postgres"), 3.0);
    assert_eq!(of(&series, "processes", "db"), 1.0);
}

#[test]
fn a_reload_brings_other_groups_and_takes_nothing_from_those_that_stay() {
    let (file, flag) = file("groups: [{preset: postgres}, {name: old, comm: systemd}]\n");
    let host = host(&[&flag], |_| {});
    let before = host.scrape();
    let groups =
        "groups: [{preset: mariadbd}, {preset: postgres}, {name: postgres, comm: systemd}]\n";
    fs::write(file.path(), groups).unwrap();
    let same = host.scrape();
    assert_eq!(
        of(&same, "processes", "old"),
        1.0,
        "nobody has asked for a reload"
    );
    host.exporter.reload().unwrap();
    for _ in 0..2 {
        let after = host.scrape();
        assert_eq!(host.unwell(), [""; 0]);
        assert_eq!(of(&after, "processes", "postgres"), 4.0);
        for family in [
            "running_seconds_total",
            "waiting_seconds_total",
            "timeslices_total",
        ] {
            assert_eq!(
                of(&after, family, "postgres"),
                of(&before, family, "postgres")
            );
            assert_eq!(
                of(&after, family, "mariadbd"),
                0.0,
                "what it did before nobody saw"
            );
        }
        assert!(!after.keys().any(|name| name.contains("group=\"old\"")));
    }
    let schedstat = "proc/1660/task/1660/schedstat";
    let text = host.machine.read(schedstat);
    let running: u64 = text.split(' ').next().unwrap().parse().unwrap();
    let later = text.replacen(
        &running.to_string(),
        &(running + 2_000_000_000).to_string(),
        1,
    );
    host.machine.write(schedstat, &later);
    assert_eq!(of(&host.scrape(), "running_seconds_total", "mariadbd"), 2.0);
}

/// Without rights and in its sandbox.
#[test]
fn a_hangup_reads_the_file_with_groups_again() {
    let machine = fixture::unpack("kernel-6.14");
    let directory = machine.path("etc");
    fs::create_dir(&directory).unwrap();
    let path = directory.join("tasks.yaml");
    fs::write(&path, "groups: [{preset: postgres}]\n").unwrap();
    let flag = format!("--collector.tasks.file={}", path.display());
    let mut program = start_without_rights(&machine, &[&flag]);
    let address = program.address();
    assert_eq!(
        of(&of_text(&scrape(&address)), "processes", "postgres"),
        3.0
    );

    let hang_up = |program: &mut Program, line: &str| {
        kill(Pid::from_raw(program.pid().cast_signed()), Signal::SIGHUP).unwrap();
        program.wait_for(line, |program| program.log().contains(line).then_some(()));
    };
    // A new file under the old name, as editors and configuration management make it.
    let replace = |text: &str| {
        fs::write(directory.join("new"), text).unwrap();
        fs::rename(directory.join("new"), &path).unwrap();
    };
    replace("groups: [{preset: mysql}]\n");
    hang_up(&mut program, "groups of tasks refused");
    for part in ["tasks.yaml:1:19: ", "unknown variant `mysql`"] {
        assert!(program.log().contains(part), "{}", program.log());
    }
    assert_eq!(
        of(&of_text(&scrape(&address)), "processes", "postgres"),
        3.0
    );

    replace("groups: [{preset: mariadbd}]\n");
    hang_up(&mut program, "groups of tasks reloaded");
    let text = scrape(&address);
    assert_eq!(state(&text, "tasks"), "ok");
    assert_eq!(of(&of_text(&text), "processes", "mariadbd"), 1.0);
    assert!(!text.contains("group=\"postgres\""));
}

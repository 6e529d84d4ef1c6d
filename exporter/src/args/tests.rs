use super::*;

fn names(flags: &[&str]) -> Vec<&'static str> {
    let command = command();
    let line = ["wakelag-exporter"].iter().chain(flags);
    let matches = command.try_get_matches_from(line).unwrap();
    enabled(&matches)
        .iter()
        .map(|entry| entry.info.name)
        .collect()
}

#[test]
fn every_collector_has_its_flags_and_the_last_one_wins() {
    assert_eq!(
        names(&[]).len(),
        COLLECTORS.iter().filter(|e| e.info.default_on).count()
    );
    assert!(!names(&["--no-collector.rapl"]).contains(&"rapl"));
    assert!(names(&["--no-collector.rapl", "--collector.rapl"]).contains(&"rapl"));
    assert!(!names(&["--collector.rapl", "--no-collector.rapl"]).contains(&"rapl"));
}

#[test]
fn what_a_collector_is_told_switches_it_on_and_without_it_there_is_nothing_to_read() {
    let preset = "--collector.tasks.preset=postgres";
    let group = "--collector.tasks.group=web:comm=nginx";
    assert!(!names(&[]).contains(&"tasks"));
    for flags in [
        &[preset][..],
        &[group],
        &[group, preset, "--collector.tasks"],
    ] {
        assert!(names(flags).contains(&"tasks"), "{flags:?}");
    }
    assert!(!names(&[preset, "--no-collector.tasks"]).contains(&"tasks"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let flag = format!("--collector.tasks.file={}", file.path().display());
    let refused = command().try_get_matches_from(["wakelag-exporter", &flag]);
    let refused = refused.unwrap_err().to_string();
    let where_ = format!("{}:1:1: ", file.path().display());
    assert!(refused.contains(&where_), "{refused}");
    std::fs::write(file.path(), "groups: [{preset: postgres}]\n").unwrap();
    assert!(names(&[&flag]).contains(&"tasks"));
    let alone = ["wakelag-exporter", "--collector.tasks"];
    let refused = with_collectors(Cli::command()).try_get_matches_from(alone);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("--collector.tasks.group")
    );
}

#[test]
fn a_time_has_to_be_above_zero() {
    assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
    for bad in ["0", "-1", "x", "inf", "nan"] {
        assert!(seconds(bad).is_err(), "{bad}");
    }
    assert_eq!(seconds_or_never("0"), Ok(Duration::ZERO));
    assert!(seconds_or_never("-1").is_err());
}

/// `--path.devfs` was taken without a look.
#[test]
fn each_root_has_to_be_a_directory() {
    for root in ["procfs", "sysfs", "devfs"] {
        let flag = format!("--path.{root}=/no/such/directory");
        let refused = command().try_get_matches_from(["wakelag-exporter", &flag]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("there is no such directory"), "{refused}");
    }
}

#[test]
fn the_command_line_is_sound() {
    command().debug_assert();
}

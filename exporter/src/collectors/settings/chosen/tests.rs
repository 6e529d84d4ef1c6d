use clap::{Args as _, Command, FromArgMatches as _};

use super::*;
use crate::root::Paths;

fn flags(line: &[&str]) -> Result<Flags, String> {
    let command = Flags::augment_args(Command::new("exporter"));
    let line = ["exporter"].iter().chain(line);
    let matches = command.try_get_matches_from(line);
    let matches = matches.map_err(|error| error.to_string())?;
    Ok(Flags::from_arg_matches(&matches).unwrap())
}

#[test]
fn cpus_are_counted_by_the_sets_they_are_in() {
    let all = Flags::default().count(&[0, 1, 2]);
    assert_eq!((all.all, &*all.chosen), (3, &[3][..]));
    let flags = flags(&[
        "--profile.cpus=8,2-3,2",
        "--profile.set=a=0-1",
        "--profile.set=b=1-2",
    ]);
    let flags = flags.unwrap();
    assert_eq!(flags.set_names().collect::<Vec<_>>(), ["a", "b"]);
    let some = flags.count(&[0, 1, 2, 3, 8]);
    assert_eq!((some.all, &*some.chosen), (5, &[3, 2, 2][..]));
}

#[test]
fn a_set_is_in_the_value_of_its_own_cpus() {
    let flags = flags(&["--profile.set=a=0-1", "--profile.set=b=1-2"]).unwrap();
    let mut governor = Values::default();
    governor.add("performance", &flags.count(&[0, 1]));
    governor.add("powersave", &flags.count(&[2]));
    let part = |index| governor.part(index);
    assert_eq!(part(0).as_deref(), Some("mixed"));
    assert_eq!(part(1).as_deref(), Some("performance"));
    assert_eq!(part(2).as_deref(), Some("mixed"));
    assert_eq!(part(3), None);
    assert_eq!(Values::of_host("on").part(2).as_deref(), Some("on"));
}

#[test]
fn a_list_needs_a_cpu_and_a_set_a_name() {
    for (flag, want) in [
        ("--profile.cpus=", "a CPU is needed"),
        ("--profile.cpus=3-1", "no CPU or range"),
        ("--profile.set=db", "a name and its CPUs are needed"),
        ("--profile.set=db=", "a CPU is needed"),
        ("--profile.set=db=two", "no CPU or range"),
        ("--profile.set==1", "is not a name"),
        ("--profile.set=a/b=1", "is not a name"),
        ("--profile.max=0", "0 is not in"),
    ] {
        let refused = flags(&[flag]).unwrap_err();
        assert!(refused.contains(want), "{flag}: {refused}");
    }
}

#[test]
fn two_sets_of_one_name_and_cpus_this_host_has_not_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [proc, sys, dev] = ["proc", "sys", "dev"].map(|name| dir.path().join(name));
    let root = Root::new(Paths::new(proc, sys.clone(), dev));
    let check = |line: &[&str]| flags(line).unwrap().check(&root);
    // Nothing is known against a CPU yet.
    assert_eq!(check(&["--profile.cpus=4"]), Ok(()));
    let cpu = sys.join("devices/system/cpu");
    std::fs::create_dir_all(&cpu).unwrap();
    std::fs::write(cpu.join("possible"), "0-3\n").unwrap();
    assert_eq!(check(&["--profile.cpus=3", "--profile.set=a=0"]), Ok(()));
    assert_eq!(
        check(&["--profile.cpus=3-4"]),
        Err("--profile.cpus: this host has no CPU 4; its CPUs are 0-3".to_owned())
    );
    assert_eq!(
        check(&["--profile.set=db=9"]),
        Err("--profile.set=db: this host has no CPU 9; its CPUs are 0-3".to_owned())
    );
    assert_eq!(
        check(&["--profile.set=a=0", "--profile.set=a=1"]),
        Err("--profile.set: two sets are named `a`; give each a name of its own".to_owned())
    );
}

#[test]
fn the_bound_is_shared_out_and_leaves_one_each() {
    let each = |line: &[&str]| flags(line).unwrap().profiles_each();
    assert_eq!(each(&[]), 64);
    assert_eq!(each(&["--profile.set=a=0", "--profile.max=10"]), 5);
    assert_eq!(each(&["--profile.set=a=0", "--profile.max=1"]), 1);
}

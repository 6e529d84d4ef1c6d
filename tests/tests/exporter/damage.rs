//! Every file of a machine damaged in turn: an unreadable file costs its own series, in every scrape, and no other.

mod reach;

use std::fs;
use std::path::Path;

use tests::fixture::{self, Fixture};

use self::reach::{SETTINGS, reach};
use crate::series::{Series, label, series, unwell};
use crate::support;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Empty,
    Garbage,
    Directory,
    Gone,
}

/// Damages a file while `look` looks.
fn with_damage(machine: &Fixture, path: &str, damage: Damage, look: impl FnOnce()) {
    let (file, aside) = (machine.path(path), machine.path("aside"));
    fs::rename(&file, &aside).unwrap();
    match damage {
        Damage::Empty => fs::write(&file, "").unwrap(),
        Damage::Garbage => fs::write(&file, "\u{1F980} -1\n").unwrap(),
        Damage::Directory => fs::create_dir(&file).unwrap(),
        Damage::Gone => {}
    }
    look();
    if damage != Damage::Gone {
        machine.remove(path);
    }
    fs::rename(&aside, &file).unwrap();
}

/// Files below `root`, without links, with those of one CPU, policy and vulnerability for all of them.
fn files(root: &Path, dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        let relative = path
            .strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let again = [
            "cpu0/", "cpu1/", "cpu2/", "cpu3/", "cpu4/", "cpu6/", "cpu7/",
        ]
        .iter()
        .chain(&[
            "policy0/", "policy1/", "policy2/", "policy3/", "policy4/", "policy6/", "policy7/",
            "state0/", "state2/", "state1/",
        ])
        .any(|other| relative.contains(other))
            || (relative.contains("/vulnerabilities/") && !relative.ends_with("/mds"));
        if kind.is_dir() {
            files(root, &path, found);
        } else if kind.is_file() && !again {
            found.push(relative);
        }
    }
}

/// Scrapes twice with the file damaged; `whole` is what the intact machine gives.
fn check(name: &str, machine: &Fixture, path: &str, damage: Damage, whole: &Series) {
    let case = format!("{name}: {path} {damage:?}");
    let exporter = support::exporter(machine);
    let reach = reach(name, path);
    let allowed = reach.as_ref().map_or(&[][..], |reach| reach.collectors);
    let mut errors_before = 0.0;
    for scrape in 0..2 {
        let left = series(&support::scrape(&exporter));
        for gone in whole.keys().filter(|name| !left.contains_key(*name)) {
            let families = reach.as_ref().map_or(&[][..], |reach| reach.families);
            let settings = SETTINGS.iter().filter(|_| allowed.contains(&"settings"));
            let mut families = families.iter().chain(settings);
            assert!(
                families.any(|family| gone.starts_with(family)),
                "{case}: {gone}"
            );
            if path.contains("/cpu5/") && gone.contains("cpu=") {
                assert_eq!(label(gone, "cpu"), Some("5"), "{case}: {gone}");
            }
        }
        let unwell = unwell(&exporter);
        let file = path.rsplit('/').next().unwrap();
        for reason in &unwell {
            let is_allowed = allowed
                .iter()
                .any(|collector| reason.starts_with(collector));
            assert!(is_allowed && reason.contains(file), "{case}: {reason}");
        }
        let errors = left
            .iter()
            .filter(|(name, _)| name.starts_with("wakelag_scrape_errors_total"));
        let errors: f64 = errors.map(|(_, count)| count).sum();
        // A directory without its name, or a policy without its CPUs, is no older kernel's but one that goes away.
        let is_optional = !path.ends_with("/name") && !path.ends_with("affected_cpus");
        if damage == Damage::Gone && is_optional {
            assert_eq!((errors, unwell.len()), (0.0, 0), "{case}: {unwell:?}");
        } else if damage == Damage::Directory {
            assert_eq!(
                unwell.len(),
                allowed.len(),
                "{case}: {unwell:?} in scrape {scrape}"
            );
            assert!(
                errors > errors_before || allowed.is_empty(),
                "{case}: no error in scrape {scrape}"
            );
        }
        errors_before = errors;
    }
}

fn damage_every_file_of(name: &str) {
    let machine = fixture::unpack(name);
    let whole = series(&support::scrape(&support::exporter(&machine)));
    let mut paths = Vec::new();
    files(machine.root(), machine.root(), &mut paths);
    let (read, unread): (Vec<_>, Vec<_>) =
        paths.iter().partition(|path| reach(name, path).is_some());
    assert!(read.len() > 30 && unread.len() > 30, "{read:?} {unread:?}");
    for path in read {
        for damage in [
            Damage::Empty,
            Damage::Garbage,
            Damage::Directory,
            Damage::Gone,
        ] {
            with_damage(&machine, path, damage, || {
                check(name, &machine, path, damage, &whole)
            });
        }
    }
    for path in unread {
        with_damage(&machine, path, Damage::Directory, || {
            check(name, &machine, path, Damage::Directory, &whole)
        });
    }
}

#[test]
fn an_unreadable_file_of_an_intel_machine_costs_its_own_series_in_every_scrape() {
    damage_every_file_of("intel-2s-icelake");
}

#[test]
fn an_unreadable_file_of_an_amd_machine_costs_its_own_series_in_every_scrape() {
    damage_every_file_of("kernel-6.14");
}

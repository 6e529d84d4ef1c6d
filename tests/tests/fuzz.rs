//! The targets of `fuzz/` over the inputs that are kept: the same functions as the fuzzer's, in a normal build.

use std::collections::BTreeSet;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

#[path = "../../fuzz/src/lib.rs"]
pub mod fuzz;

fn room(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz")
        .join(below)
}

fn list(below: &str) -> Vec<PathBuf> {
    let dir = room(below);
    let entries = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn names(below: &str) -> BTreeSet<String> {
    let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    list(below).into_iter().map(stem).collect()
}

#[test]
fn every_target_is_built_by_the_fuzzer_and_has_a_corpus() {
    let targets: BTreeSet<String> = fuzz::TARGETS.map(|(name, _)| name.to_owned()).into();
    let manifest = fs::read_to_string(room("Cargo.toml")).unwrap();
    let built = manifest.split("[[bin]]").skip(1).map(|bin| {
        let name = bin.lines().find_map(|line| line.strip_prefix("name = "));
        name.unwrap().trim_matches('"').to_owned()
    });
    assert_eq!(built.collect::<BTreeSet<_>>(), targets);
    assert_eq!(names("targets"), targets);
    assert_eq!(names("corpus"), targets);
    for target in &targets {
        let inputs = list(&format!("corpus/{target}")).len();
        assert!(inputs > 0, "{target}: an empty corpus");
        let entry = fs::read_to_string(room(&format!("targets/{target}.rs"))).unwrap();
        assert!(
            entry.contains(&format!("run(\"{target}\", bytes)")),
            "{target}"
        );
    }
}

/// The inputs of one target that break one of its properties.
fn broken(target: &str) -> Vec<PathBuf> {
    let mut inputs = list(&format!("corpus/{target}"));
    inputs.retain(|path| {
        let bytes = fs::read(path).unwrap();
        panic::catch_unwind(|| fuzz::run(target, &bytes)).is_err()
    });
    inputs
}

#[test]
fn every_property_holds_for_every_input_that_is_kept() {
    let broken = std::thread::scope(|threads| {
        let targets = fuzz::TARGETS.map(|(name, _)| threads.spawn(move || broken(name)));
        targets.map(|target| target.join().unwrap())
    });
    assert_eq!(broken.concat(), Vec::<PathBuf>::new());
}

//! Files that hold what a program is expected to print. `UPDATE_GOLDEN=1` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares `text` with the file at `path`, relative to the repository.
///
/// # Panics
///
/// If they differ, with the first line that does; or, when updating, if the file cannot be written.
pub fn compare(path: &str, text: &str) {
    let file = repository().join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let golden = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{path}: {error}; UPDATE_GOLDEN=1 writes it"));
    let (mut want, mut got) = (golden.lines(), text.lines());
    let mut line = 0;
    loop {
        line += 1;
        match (want.next(), got.next()) {
            (None, None) => return,
            (want, got) if want == got => {}
            (want, got) => panic!(
                "{path}:{line} differs; UPDATE_GOLDEN=1 writes it anew\n expected: {}\n got:      {}",
                want.unwrap_or("the end"),
                got.unwrap_or("the end")
            ),
        }
    }
}

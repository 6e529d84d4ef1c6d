//! Fixture machines: the `/proc` and `/sys` of some host in a temporary directory.
//!
//! A machine is one text file, `tests/fixtures/<machine>.grep` (format: [`archive`]), because the output of
//! `grep -ra '' /proc/... /sys/...` is what anyone can take from a real host and paste into a bug report.
//!
//! A test points `--path.procfs` and `--path.sysfs` at [`Fixture::procfs`] and [`Fixture::sysfs`] and changes files
//! while the program under test holds them open. What an ordinary directory cannot show: errno on read (`EBUSY` of an
//! offline policy, `EAGAIN` of an idle CPU); and, for a test that runs as root, a mode that denies.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub mod archive;
pub mod big;

pub use archive::{Archive, ArchiveError};
pub use big::big;

/// One machine's files; the directory goes away with the value.
#[derive(Debug)]
pub struct Fixture {
    dir: TempDir,
}

/// The machine of `tests/fixtures/<machine>.grep`, unpacked into a fresh temporary directory.
///
/// # Panics
///
/// If there is no such machine, its archive has an error (the message names file and line), or the disk refuses.
pub fn unpack(machine: &str) -> Fixture {
    let path = directory().join(format!("{machine}.grep"));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = format!("tests/fixtures/{machine}.grep");
    Fixture::of(&Archive::parse(&name, &text).unwrap_or_else(|error| panic!("{error}")))
}

/// The names of all machines under `tests/fixtures`, sorted: a golden suite goes over them all.
///
/// # Panics
///
/// If the directory cannot be read.
pub fn machines() -> Vec<String> {
    let entries = fs::read_dir(directory())
        .unwrap_or_else(|error| panic!("{}: {error}", directory().display()));
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .unwrap_or_else(|error| panic!("{}: {error}", directory().display()))
                .path()
        })
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "grep")
        })
        .filter_map(|path| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    names
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

impl Fixture {
    /// A machine with an empty `proc`, `sys` and `dev`.
    ///
    /// # Panics
    ///
    /// If no temporary directory can be made.
    pub fn empty() -> Fixture {
        let dir = TempDir::with_prefix("wakelag-fixture-")
            .unwrap_or_else(|error| panic!("a fixture: {error}"));
        let fixture = Fixture { dir };
        for root in [fixture.procfs(), fixture.sysfs(), fixture.devfs()] {
            fs::create_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        }
        fixture
    }

    /// The machine an archive describes.
    ///
    /// # Panics
    ///
    /// If the disk refuses.
    pub fn of(archive: &Archive) -> Fixture {
        let fixture = Fixture::empty();
        archive
            .unpack(fixture.root())
            .unwrap_or_else(|error| panic!("{}: {error}", archive.name()));
        fixture
    }

    /// The directory that holds `proc`, `sys` and `dev`.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// What `--path.procfs` gets.
    pub fn procfs(&self) -> PathBuf {
        self.root().join("proc")
    }

    /// What `--path.sysfs` gets.
    pub fn sysfs(&self) -> PathBuf {
        self.root().join("sys")
    }

    /// What `--path.devfs` gets. No archive has device files: a test writes what a device answers.
    pub fn devfs(&self) -> PathBuf {
        self.root().join("dev")
    }

    /// Where a file such as `proc/stat` is in the file system.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// The present text of a file.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    pub fn read(&self, path: &str) -> String {
        let full = self.path(path);
        fs::read_to_string(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()))
    }

    /// Gives a file a new text, as a kernel file changes: same inode, so that a descriptor kept open sees it, and
    /// without a half-written text for a reader at the same time. A missing file is made, with its directories.
    ///
    /// The new text is laid over the old with one `pwrite`, padded with newlines to the old length. The padding stays:
    /// cut off, it would show a reader at the same time NUL bytes. For an exactly shorter (or an empty) file,
    /// [`Fixture::remove`] it first; then it is a new inode.
    ///
    /// Two cases no file system spares a reader at the same time: a text longer than the file ever was may be seen
    /// cut at the old length ([`Fixture::reserve`] room before the reader starts), and a text of several pages may be
    /// seen new in its first pages and old in the others.
    ///
    /// # Panics
    ///
    /// If the disk refuses.
    pub fn write(&self, path: &str, text: &str) {
        let full = self.path(path);
        let written = if full.exists() {
            overlay(&full, text)
        } else {
            self.create(&full, text)
        };
        written.unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    }

    /// Pads a file with newlines to at least `bytes`, so that a later [`Fixture::write`] up to that length does not
    /// grow it under a reader.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    pub fn reserve(&self, path: &str, bytes: usize) {
        let text = self.read(path);
        let padding = "\n".repeat(bytes.saturating_sub(text.len()));
        self.write(path, &format!("{text}{padding}"));
    }

    fn create(&self, full: &Path, text: &str) -> io::Result<()> {
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent)?;
        }
        // A rename, because a file made in place is empty before it is full.
        let new = self.root().join("new");
        fs::write(&new, text)?;
        fs::rename(new, full)
    }

    /// Takes away a file, a link, or a directory with all it holds, as when a CPU goes offline.
    ///
    /// # Panics
    ///
    /// If there is nothing of that name.
    pub fn remove(&self, path: &str) {
        let full = self.path(path);
        let kind = fs::symlink_metadata(&full)
            .unwrap_or_else(|error| panic!("{}: {error}", full.display()));
        let removed = if kind.is_dir() {
            fs::remove_dir_all(&full)
        } else {
            fs::remove_file(&full)
        };
        removed.unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    }

    /// Puts a FIFO without a writer in the place of a file: opening it to read hangs, as a sick driver does.
    ///
    /// # Panics
    ///
    /// If the disk refuses.
    pub fn make_fifo(&self, path: &str) {
        let full = self.path(path);
        if fs::symlink_metadata(&full).is_ok() {
            self.remove(path);
        }
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent)
                .unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        }
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o644);
        nix::unistd::mkfifo(&full, mode)
            .unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    }

    /// Sets the permission bits of a file or directory.
    ///
    /// # Panics
    ///
    /// If there is nothing of that name.
    pub fn set_mode(&self, path: &str, mode: u32) {
        let full = self.path(path);
        fs::set_permissions(&full, Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    }
}

fn overlay(full: &Path, text: &str) -> io::Result<()> {
    let permissions = fs::metadata(full)?.permissions();
    let file = match OpenOptions::new().write(true).open(full) {
        // A file of mode 0400 belongs to its owner all the same.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(full, Permissions::from_mode(permissions.mode() | 0o200))?;
            let file = OpenOptions::new().write(true).open(full);
            fs::set_permissions(full, permissions)?;
            file?
        }
        opened => opened?,
    };
    let old = file.metadata()?.len();
    let padding = "\n".repeat((old as usize).saturating_sub(text.len()));
    let text = format!("{text}{padding}");
    // One system call, or an error: a loop over the rest would show the file half written.
    if file.write_at(text.as_bytes(), 0)? == text.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}

#[cfg(test)]
mod tests;

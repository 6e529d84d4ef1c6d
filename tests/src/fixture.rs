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
    /// A machine with an empty `proc` and an empty `sys`.
    ///
    /// # Panics
    ///
    /// If no temporary directory can be made.
    pub fn empty() -> Fixture {
        let dir = TempDir::with_prefix("wakelag-fixture-")
            .unwrap_or_else(|error| panic!("a fixture: {error}"));
        let fixture = Fixture { dir };
        for root in [fixture.procfs(), fixture.sysfs()] {
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

    /// The directory that holds `proc` and `sys`.
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
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn fixture(text: &str) -> Fixture {
        Fixture::of(&Archive::parse("test.grep", text).unwrap())
    }

    #[test]
    fn unpacks_files_links_directories_and_modes() {
        let fixture = fixture(concat!(
            "proc/uptime:12.34 56.78\n",
            "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/name:package-0\n",
            "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj:17\n",
            "@mode 0400 sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj\n",
            "@link sys/class/powercap/intel-rapl:0 ../../devices/virtual/powercap/intel-rapl/intel-rapl:0\n",
            "@dir sys/devices/system/cpu/cpufreq\n",
            "@empty sys/devices/system/cpu/uevent\n",
        ));
        assert_eq!(fixture.read("proc/uptime"), "12.34 56.78\n");
        assert_eq!(
            fixture.read("sys/class/powercap/intel-rapl:0/name"),
            "package-0\n"
        );
        let energy = fixture.path("sys/class/powercap/intel-rapl:0/energy_uj");
        assert_eq!(fs::metadata(energy).unwrap().mode() & 0o7777, 0o400);
        assert_eq!(
            fs::read_dir(fixture.sysfs().join("devices/system/cpu/cpufreq"))
                .unwrap()
                .count(),
            0
        );
        assert_eq!(fixture.read("sys/devices/system/cpu/uevent"), "");
    }

    #[test]
    fn a_kept_descriptor_sees_what_is_written() {
        let fixture = fixture("proc/a:1000\n");
        let kept = File::open(fixture.path("proc/a")).unwrap();
        for text in ["1001\n", "7\n", "a longer text\nof two lines\n", ""] {
            fixture.write("proc/a", text);
            let mut buffer = [0; 64];
            let length = kept.read_at(&mut buffer, 0).unwrap();
            assert_eq!(
                std::str::from_utf8(&buffer[..length]).unwrap().trim_end(),
                text.trim_end()
            );
        }
    }

    #[test]
    fn a_shorter_text_is_padded_and_a_longer_one_is_not() {
        let fixture = fixture("proc/a:1000\n");
        fixture.write("proc/a", "7\n");
        assert_eq!(fixture.read("proc/a"), "7\n\n\n\n");
        fixture.write("proc/a", "123456\n");
        assert_eq!(fixture.read("proc/a"), "123456\n");
    }

    #[test]
    fn a_reader_never_sees_half_a_write() {
        // At most eight bytes: the copy itself is then one move.
        let (short, long) = ("1\n", "222222\n");
        let fixture = fixture("proc/a:1\n");
        fixture.reserve("proc/a", 8);
        let kept = File::open(fixture.path("proc/a")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    fixture.write("proc/a", long);
                    fixture.write("proc/a", short);
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                let mut buffer = [0; 64];
                let length = kept.read_at(&mut buffer, 0).unwrap();
                let text = std::str::from_utf8(&buffer[..length])
                    .unwrap()
                    .trim_end_matches('\n');
                assert!(
                    text == short.trim_end() || text == long.trim_end(),
                    "{text:?}"
                );
            }
        });
    }

    #[test]
    fn writes_a_read_only_file_and_leaves_its_mode() {
        let fixture = fixture("sys/a:1\n@mode 0400 sys/a\n");
        fixture.write("sys/a", "2\n");
        assert_eq!(fixture.read("sys/a"), "2\n");
        assert_eq!(
            fs::metadata(fixture.path("sys/a")).unwrap().mode() & 0o7777,
            0o400
        );
    }

    #[test]
    fn makes_and_removes() {
        let fixture = fixture("sys/cpu/cpu1/online:1\n");
        fixture.write("sys/cpu/cpu2/online", "0\n");
        assert_eq!(fixture.read("sys/cpu/cpu2/online"), "0\n");
        fixture.remove("sys/cpu/cpu1/online");
        fixture.remove("sys/cpu/cpu2");
        assert!(!fixture.path("sys/cpu/cpu1/online").exists());
        assert!(!fixture.path("sys/cpu/cpu2").exists());
    }

    #[test]
    fn a_fifo_takes_the_place_of_a_file() {
        let fixture = fixture("sys/a:1\n");
        fixture.make_fifo("sys/a");
        fixture.make_fifo("sys/new/b");
        for path in ["sys/a", "sys/new/b"] {
            assert!(
                fs::metadata(fixture.path(path))
                    .unwrap()
                    .file_type()
                    .is_fifo()
            );
        }
    }

    #[test]
    fn every_machine_unpacks() {
        assert!(machines().len() >= 5, "{:?}", machines());
        for machine in machines() {
            let fixture = unpack(&machine);
            for path in [
                "proc/stat",
                "proc/uptime",
                "proc/sys/kernel/osrelease",
                "sys/devices/system/cpu/online",
            ] {
                assert!(fixture.read(path).ends_with('\n'), "{machine}: {path}");
            }
        }
    }

    #[test]
    fn counters_of_a_machine_fit_together() {
        for machine in machines() {
            let fixture = unpack(&machine);
            let uptime: f64 = fixture
                .read("proc/uptime")
                .split(' ')
                .next()
                .unwrap()
                .parse()
                .unwrap();
            let number = |path: &str| fixture.read(path).trim_end().parse::<u64>().unwrap();
            for cpu in fixture
                .read("proc/stat")
                .lines()
                .skip(1)
                .map_while(|line| line.strip_prefix("cpu"))
            {
                let numbers: Vec<u64> = cpu
                    .split(' ')
                    .map(|number| number.parse().unwrap())
                    .collect();
                // Ten modes in 1/100 s after the CPU's number; a guest's clock and its ticks are not in step.
                let counted = numbers[1..].iter().sum::<u64>() as f64 / 100.0;
                assert!(
                    (counted / uptime - 1.0).abs() < 0.02,
                    "{machine}: cpu{} {counted} of {uptime} s",
                    numbers[0]
                );
                let idle: u64 = (0..10)
                    .map(|state| {
                        format!(
                            "sys/devices/system/cpu/cpu{}/cpuidle/state{state}/time",
                            numbers[0]
                        )
                    })
                    .take_while(|path| fixture.path(path).exists())
                    .map(|path| number(&path))
                    .sum();
                let idle = idle as f64 / 1e6;
                assert!(
                    idle <= uptime,
                    "{machine}: cpu{} idle for {idle} of {uptime} s",
                    numbers[0]
                );
            }
            let powercap = fixture.path("sys/class/powercap");
            for zone in fs::read_dir(&powercap).into_iter().flatten() {
                let zone = format!(
                    "sys/class/powercap/{}",
                    zone.unwrap().file_name().to_string_lossy()
                );
                if fixture.path(&format!("{zone}/name")).exists() {
                    let energy = fixture.path(&format!("{zone}/energy_uj"));
                    assert_eq!(fs::metadata(energy).unwrap().mode() & 0o7777, 0o400);
                    fixture.set_mode(&format!("{zone}/energy_uj"), 0o600);
                    assert!(
                        number(&format!("{zone}/energy_uj"))
                            < number(&format!("{zone}/max_energy_range_uj"))
                    );
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "nowhere.grep")]
    fn an_unknown_machine_is_named() {
        unpack("nowhere");
    }
}

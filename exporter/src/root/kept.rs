//! Kernel files whose descriptors stay open, within what the process may have open.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors left for everything but kernel files: connections, the log, the database client beside us.
const RESERVED_DESCRIPTORS: u64 = 256;
/// No kernel file read here comes near this; a file that does is not one.
const MAX_FILE_BYTES: usize = 64 << 20;

/// Where the kernel's files are, and how many of them may stay open.
#[derive(Debug, Clone)]
pub struct Paths {
    pub(super) procfs: PathBuf,
    pub(super) sysfs: PathBuf,
    pub(super) devfs: PathBuf,
    kept: Arc<AtomicUsize>,
    kept_limit: usize,
}

impl Paths {
    /// Kernel files under `procfs`, `sysfs` and `devfs`. Raises the soft limit of open files to the hard one: 256 CPUs with
    /// four idle states have 5120 files worth keeping.
    pub fn new(procfs: PathBuf, sysfs: PathBuf, devfs: PathBuf) -> Self {
        let limit = match getrlimit(Resource::RLIMIT_NOFILE) {
            Ok((_, hard)) if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() => hard,
            Ok((soft, _)) => soft,
            Err(_) => 1024,
        };
        let kept_limit = usize::try_from(limit.saturating_sub(RESERVED_DESCRIPTORS));
        Paths {
            procfs,
            sysfs,
            devfs,
            kept: Arc::default(),
            kept_limit: kept_limit.unwrap_or(usize::MAX),
        }
    }

    /// How many kernel files are open now.
    pub fn open_files(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    fn open(&self, path: &Path) -> io::Result<Open> {
        let file = File::open(path)?;
        self.kept.fetch_add(1, Ordering::Relaxed);
        Ok(Open {
            file,
            kept: Arc::clone(&self.kept),
        })
    }
}

/// How long a file can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// An attribute of sysfs: one page at most, whole in one read.
    Page,
    /// A file of procfs, which may come in pieces.
    Any,
}

/// A kernel file whose descriptor stays open between reads.
#[derive(Debug)]
pub struct Kept {
    pub(super) path: Arc<Path>,
    length: Length,
    keep: bool,
    /// The kernel knows no position in it: each read is the next one.
    in_order: bool,
    open: Option<Open>,
    replaced: bool,
}

impl Kept {
    pub(super) fn new(path: PathBuf, length: Length) -> Self {
        Kept {
            path: path.into(),
            length,
            keep: true,
            in_order: false,
            open: None,
            replaced: false,
        }
    }

    /// The same file, to be closed after each read.
    pub(super) fn once(self) -> Self {
        Kept {
            keep: false,
            ..self
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole file into `buffer`; the number of bytes. A descriptor whose file went away and came back (a CPU
    /// taken offline, a driver changed) is opened again. One that can only be read in order, as most numbers of debugfs,
    /// is opened for each read.
    pub(super) fn read(&mut self, paths: &Paths, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let was_open = self.open.is_some();
        let mut length = self.read_open(paths, buffer);
        self.replaced = false;
        if length.as_ref().is_err_and(|error| is(error, Errno::ESPIPE)) {
            (self.in_order, self.keep) = (true, false);
            length = self.read_open(paths, buffer);
        }
        if was_open && length.as_ref().is_err_and(|error| is(error, Errno::ENODEV)) {
            self.open = None;
            length = self.read_open(paths, buffer);
            self.replaced = length.is_ok();
        }
        if length.is_err() || !self.keep || paths.open_files() > paths.kept_limit {
            self.open = None;
        }
        length
    }

    /// Whether the last read found another file in the place of the one that was open.
    pub(super) fn was_replaced(&self) -> bool {
        self.replaced
    }

    fn read_open(&mut self, paths: &Paths, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let open = match self.open.take() {
            Some(open) => open,
            None => paths.open(&self.path)?,
        };
        let file = &self.open.insert(open).file;
        let mut length = 0;
        loop {
            let rest = &mut buffer[length..];
            let read = match self.in_order {
                true => (&*file).read(rest),
                false => file.read_at(rest, length as u64),
            };
            let read = match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            length += read;
            let filled = length == buffer.len();
            if read == 0 || (self.length == Length::Page && !filled) {
                return Ok(length);
            }
            if filled && length >= MAX_FILE_BYTES {
                return Err(io::Error::from_raw_os_error(Errno::EFBIG as i32));
            }
            if filled {
                buffer.resize(length * 2, 0);
            }
        }
    }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno as i32)
}

/// An open descriptor, counted while it lives.
#[derive(Debug)]
struct Open {
    file: File,
    kept: Arc<AtomicUsize>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.kept.fetch_sub(1, Ordering::Relaxed);
    }
}

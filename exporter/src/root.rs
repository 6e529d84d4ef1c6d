//! Kernel files under `--path.procfs`, `--path.sysfs` and `--path.devfs`: the only place that opens them.
//!
//! A file that stays is opened once and read by `pread` from then on, which costs a fifth to a ninth of opening it
//! each time; only a file that knows no position, as the numbers of debugfs, is opened for each read. Reading is the
//! whole of what happens here: nothing is ever written, locked or watched.

mod dir;
mod kept;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;

pub use self::dir::Dir;
use self::kept::Length;
pub use self::kept::{Kept, Paths};
use crate::parse::ParseError;

/// Why a kernel file gave no value. Prints with the path in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{}: {}", path.display(), errno.desc())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        errno: Errno,
    },
    /// The text is not what this file holds on any kernel known here.
    #[error("{}:{}: {}", path.display(), source.line, source.problem)]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: ParseError,
    },
}

impl Error {
    /// What the kernel answered, if it was not the text that was wrong.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Error::Read { errno, .. } => Some(*errno),
            Error::Parse { .. } => None,
        }
    }

    fn read(path: &Path, error: &io::Error) -> Self {
        Error::Read {
            path: path.to_owned(),
            errno: error
                .raw_os_error()
                .map_or(Errno::UnknownErrno, Errno::from_raw),
        }
    }
}

/// Which file a [`Root`] is reading, for whoever waits for it.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<Option<Arc<Path>>>>);

impl Watch {
    /// The file being read, or read last.
    pub fn path(&self) -> Option<Arc<Path>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, path: &Arc<Path>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(path));
    }
}

/// One collector's way to the kernel's files.
#[derive(Debug)]
pub struct Root {
    paths: Paths,
    watch: Watch,
    buffer: RefCell<Vec<u8>>,
    tolerated: RefCell<Vec<Error>>,
    forgone: RefCell<Vec<String>>,
    replaced: Cell<bool>,
}

impl Root {
    /// A way to the files under `paths`.
    pub fn new(paths: Paths) -> Self {
        Root {
            paths,
            watch: Watch::default(),
            buffer: RefCell::new(vec![0; 4096]),
            tolerated: RefCell::default(),
            forgone: RefCell::default(),
            replaced: Cell::default(),
        }
    }

    /// What this root is reading, seen from another thread.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// The file `relative` of procfs, not opened yet.
    pub fn proc(&self, relative: &str) -> Kept {
        Kept::new(self.paths.procfs.join(relative), Length::Any)
    }

    /// The file `relative` of sysfs, not opened yet.
    pub fn sys(&self, relative: &str) -> Kept {
        Kept::new(self.paths.sysfs.join(relative), Length::Page)
    }

    /// The device file `relative`, not opened yet and never kept: an open device can mean something to the kernel.
    pub fn dev(&self, relative: &str) -> Kept {
        Kept::new(self.paths.devfs.join(relative), Length::Page).once()
    }

    /// A file elsewhere, by its full path: a pid file.
    pub fn file(&self, path: &Path) -> Kept {
        Kept::new(path.to_owned(), Length::Any)
    }

    /// Reads `file` as it is now and parses it.
    ///
    /// # Errors
    /// The file cannot be read, or the parser refuses its text.
    pub fn parse<T>(
        &self,
        file: &mut Kept,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<T, Error> {
        self.parse_bytes(file, |bytes| {
            let text = std::str::from_utf8(bytes).map_err(|_| ParseError::new(1, "not text"));
            text.and_then(parser)
        })
    }

    /// The same for a file that holds what a program calls itself, which need not be text.
    ///
    /// # Errors
    /// As [`Root::parse`].
    pub fn parse_bytes<T>(
        &self,
        file: &mut Kept,
        parser: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> Result<T, Error> {
        self.watch.set(&file.path);
        let mut buffer = self.buffer.borrow_mut();
        let length = file
            .read(&self.paths, &mut buffer)
            .map_err(|error| Error::read(&file.path, &error))?;
        if file.was_replaced() {
            self.replaced.set(true);
        }
        parser(&buffer[..length]).map_err(|source| Error::Parse {
            path: file.path.to_path_buf(),
            source,
        })
    }

    /// Reads and parses a file that never changes; its descriptor is not kept.
    ///
    /// # Errors
    /// As [`Root::parse`].
    pub fn parse_once<T>(
        &self,
        file: Kept,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<T, Error> {
        self.parse(&mut file.once(), parser)
    }

    /// Goes on without a value: an error costs its own series and is kept for the collector's outcome.
    pub fn tolerate<T>(&self, result: Result<T, Error>) -> Option<T> {
        result
            .map_err(|error| self.tolerated.borrow_mut().push(error))
            .ok()
    }

    /// Goes on without a file that this kernel or machine does not have; anything but its absence is kept as by
    /// [`Root::tolerate`].
    pub fn optional<T>(&self, result: Result<T, Error>) -> Option<T> {
        match result {
            Err(error) if error.errno().is_some_and(absent) => None,
            other => self.tolerate(other),
        }
    }

    /// Goes on as by [`Root::optional`], also without a file that is for root only and tells a detail: an exporter without
    /// rights is not unwell for lack of it. What was forgone is said beside the outcome.
    pub fn permitted<T>(&self, result: Result<T, Error>) -> Option<T> {
        match result {
            Err(error) if matches!(error.errno(), Some(Errno::EACCES | Errno::EPERM)) => {
                self.forgo(error.to_string());
                None
            }
            other => self.optional(other),
        }
    }

    /// Goes on without something that could be read, and says why.
    pub fn forgo(&self, why: String) {
        self.forgone.borrow_mut().push(why);
    }

    /// How many errors were gone on from since [`Root::take_tolerated`].
    pub fn tolerated(&self) -> usize {
        self.tolerated.borrow().len()
    }

    /// Whether a kept file had gone since the last call and another one was in its place: a driver that came back has
    /// new directories under the old names, and may have more or other files in them.
    pub fn take_replaced(&self) -> bool {
        self.replaced.take()
    }

    /// The error of `relative` of sysfs not being there, for what can be told without asking.
    pub fn missing(&self, relative: &str) -> Error {
        self.error(relative, Errno::ENOENT)
    }

    /// The error of the kernel having answered `errno` to what `relative` of sysfs describes.
    pub fn error(&self, relative: &str, errno: Errno) -> Error {
        Error::Read {
            path: self.paths.sysfs.join(relative),
            errno,
        }
    }

    /// The error of `relative` of procfs being hidden, for what can be told without asking.
    pub fn hidden(&self, relative: &str) -> Error {
        Error::Read {
            path: self.paths.procfs.join(relative),
            errno: Errno::EACCES,
        }
    }

    /// What was gone on without since the last call, a file with a reason each.
    pub fn take_forgone(&self) -> Vec<String> {
        self.forgone.take()
    }

    /// The errors gone on from since the last call.
    pub fn take_tolerated(&self) -> Vec<Error> {
        self.tolerated.take()
    }
}

/// Whether the kernel said that there is no such thing here. A `psi=0` kernel answers EOPNOTSUPP.
pub fn absent(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::ENOENT | Errno::ENOTDIR | Errno::EOPNOTSUPP | Errno::ENODEV | Errno::ENXIO
    )
}

#[cfg(test)]
mod tests;

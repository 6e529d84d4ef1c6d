//! What is in a directory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Error, Kept, Root};

impl Root {
    /// The names in the directory `relative` of sysfs, sorted.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn names(&self, relative: &str) -> Result<Vec<String>, Error> {
        let mut names = self.list(self.paths.sysfs.join(relative), |name| {
            Some(name.to_owned())
        })?;
        names.sort_unstable();
        Ok(names)
    }

    /// The numbers among the names in the directory `relative` of procfs, sorted: its processes, or a process's threads.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn numbers(&self, relative: &str) -> Result<Vec<u32>, Error> {
        let mut numbers = self.list(self.paths.procfs.join(relative), |name| name.parse().ok())?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn list<T>(&self, path: PathBuf, take: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Error> {
        let path: Arc<Path> = path.into();
        self.watch.set(&path);
        let read = || -> io::Result<Vec<T>> {
            let mut taken = Vec::new();
            for entry in std::fs::read_dir(&path)? {
                taken.extend(entry?.file_name().to_str().and_then(&take));
            }
            Ok(taken)
        };
        read().map_err(|error| Error::read(&path, &error))
    }
}

/// A directory of sysfs and the names that were in it. A file that is not among them is never asked for, so that what a
/// kernel does not have costs nothing, and one that goes away later is told from one that never was.
#[derive(Debug)]
pub struct Dir {
    path: String,
    names: Vec<String>,
}

impl Dir {
    /// Looks at the directory `path` of sysfs.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(root: &Root, path: String) -> Result<Self, Error> {
        let names = root.names(&path)?;
        Ok(Dir { path, names })
    }

    /// Whether `name` is in it.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|n| n == name)
    }

    /// The file `name`, not opened yet, if it is in it.
    pub fn file(&self, root: &Root, name: &str) -> Option<Kept> {
        self.has(name)
            .then(|| root.sys(&format!("{}/{name}", self.path)))
    }

    /// The file `name` of its subdirectory `sub`, if there is such a directory.
    pub fn file_in(&self, root: &Root, sub: &str, name: &str) -> Option<Kept> {
        self.has(sub)
            .then(|| root.sys(&format!("{}/{sub}/{name}", self.path)))
    }
}

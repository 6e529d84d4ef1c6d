//! A directory as it was when it was looked at.

use super::{Error, Kept, Root};

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

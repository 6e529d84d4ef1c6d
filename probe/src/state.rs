//! Where the probe keeps the file of its embedded default.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Why there is no state directory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing says where it should be.
    #[error(
        "no place for the embedded database: neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set; set one, or give \
         --config.file"
    )]
    Nowhere,
    /// It could not be made.
    #[error("{}: cannot create the state directory: {source}; set STATE_DIRECTORY, or give --config.file", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The state directory, made with mode 0700 where it is missing: `$STATE_DIRECTORY` (the first of systemd's list),
/// else `$XDG_STATE_HOME/wakelag`, else `~/.local/state/wakelag`.
///
/// # Errors
/// No variable says where, or it cannot be made.
pub fn directory() -> Result<PathBuf, Error> {
    let variable = |name| std::env::var(name).ok();
    let path = choose(variable).ok_or(Error::Nowhere)?;
    create(&path)?;
    Ok(path)
}

fn choose(variable: impl Fn(&'static str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |text: String| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    if let Some(list) = variable("STATE_DIRECTORY") {
        return list.split(':').next().map(str::to_owned).and_then(absolute);
    }
    // The specification says that a relative path is to be ignored.
    let xdg = variable("XDG_STATE_HOME").and_then(absolute);
    let home = || Some(variable("HOME").and_then(absolute)?.join(".local/state"));
    Some(xdg.or_else(home)?.join("wakelag"))
}

fn create(path: &Path) -> Result<(), Error> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|source| Error::Create {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn chosen(variables: &[(&str, &str)]) -> Option<PathBuf> {
        choose(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_variable_that_is_set_says_where() {
        let home = ("HOME", "/home/u");
        let xdg = ("XDG_STATE_HOME", "/x");
        assert_eq!(
            chosen(&[("STATE_DIRECTORY", "/var/lib/a:/b"), xdg, home]),
            Some("/var/lib/a".into())
        );
        assert_eq!(chosen(&[xdg, home]), Some("/x/wakelag".into()));
        assert_eq!(
            chosen(&[("XDG_STATE_HOME", "x"), home]),
            Some("/home/u/.local/state/wakelag".into())
        );
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn it_is_made_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/wakelag");
        create(&path).unwrap();
        create(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

//! Strict YAML configuration: an unknown key or a bad value is refused with file, line and column.

pub mod locate;
pub mod text;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// Why a configuration was refused. Prints as `file:line:column: what is wrong`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not what is asked for.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
}

/// Reads and checks the YAML file `path`.
///
/// # Errors
/// The file cannot be read, is not YAML, or has an unknown key or a bad value.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    parse(path, &read(path)?)
}

/// The text of the file `path`.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

/// Checks YAML `text`, which came from `path`.
///
/// # Errors
/// The text is not YAML, or has an unknown key or a bad value.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Error> {
    serde_yaml::from_str(text).map_err(|error| {
        let (line, column) = error
            .location()
            .map_or((1, 1), |at| (at.line(), at.column()));
        // The library ends its message with the position, which stands in front here.
        let mut message = error.to_string();
        if let Some(end) = message.rfind(" at line ") {
            message.truncate(end);
        }
        Error::Invalid {
            path: path.to_owned(),
            line,
            column,
            message,
        }
    })
}

/// A password or key. It never prints itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the secret; what is handed in should not be kept elsewhere.
    pub fn new(text: String) -> Self {
        Secret(text)
    }

    /// Reads a secret from a file: its text without the line end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        Ok(Secret(
            read(path)?.trim_end_matches(['\n', '\r']).to_owned(),
        ))
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<secret>")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[allow(dead_code)]
        targets: Vec<Target>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Target {
        #[allow(dead_code)]
        name: String,
        #[allow(dead_code)]
        lanes: u32,
    }

    fn refused(text: &str) -> String {
        parse::<Sample>(Path::new("probe.yaml"), text)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn an_unknown_key_is_refused_where_it_stands() {
        let message = refused("targets:\n  - name: a\n    lanes: 1\n    colour: red\n");
        assert!(message.starts_with("probe.yaml:4:5: "), "{message}");
        assert!(message.contains("unknown field `colour`"), "{message}");
        assert!(!message.contains("at line"), "{message}");
    }

    #[test]
    fn a_bad_value_is_refused_where_it_stands() {
        let message = refused("targets:\n  - name: a\n    lanes: many\n");
        assert!(message.starts_with("probe.yaml:3:12: "), "{message}");
    }

    #[test]
    fn text_that_is_not_yaml_is_refused_where_it_stops_being_so() {
        let message = refused("targets:\n  - }\n");
        assert!(message.starts_with("probe.yaml:2:5: "), "{message}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load::<Sample>(Path::new("/nonexistent/probe.yaml")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nonexistent/probe.yaml: cannot read: ")
        );
    }

    #[test]
    fn a_secret_prints_nothing_of_itself() {
        let secret = Secret::new("canary".into());
        assert_eq!(format!("{secret} {secret:?}"), "<secret> <secret>");
        assert_eq!(secret.reveal(), "canary");
    }

    #[test]
    fn a_secret_file_loses_its_line_end_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, " p@ss word \r\n").unwrap();
        assert_eq!(Secret::from_file(&path).unwrap().reveal(), " p@ss word ");
    }
}

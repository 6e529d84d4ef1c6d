//! Which processes make a group, and how a group is written.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use serde::Deserialize;

/// Bytes of a name that the kernel keeps (TASK_COMM_LEN less its end).
const COMM_BYTES: usize = 15;

/// A server whose processes are known by the name of their main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Preset {
    /// PostgreSQL.
    Postgres,
    /// MySQL.
    Mysqld,
    /// MariaDB.
    Mariadbd,
}

impl Preset {
    /// Its processes, under its name.
    pub(super) fn group(self) -> Group {
        let name = match self {
            Preset::Postgres => "postgres",
            Preset::Mysqld => "mysqld",
            Preset::Mariadbd => "mariadbd",
        };
        Group {
            name: name.to_owned(),
            matcher: Matcher::Comm(name.to_owned()),
        }
    }
}

/// Processes under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The value of the label `group`.
    pub(super) name: String,
    /// Which processes.
    pub(super) matcher: Matcher,
}

/// What the processes of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matcher {
    /// The name of the main thread.
    Comm(String),
    /// The path of a cgroup they are in or below.
    Cgroup(String),
    /// The systemd unit, which is a part of the cgroup's path.
    Unit(String),
    /// A process and its descendants, by the file its number is in.
    Pidfile(PathBuf),
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "NAME:comm|cgroup|unit|pidfile=VALUE is needed".to_owned();
        let (name, matcher) = text.split_once(':').ok_or_else(form)?;
        let (key, value) = matcher.split_once('=').ok_or_else(form)?;
        Ok(Group {
            name: self::name(name)?.to_owned(),
            matcher: matcher_of(key, value)?,
        })
    }
}

/// The name of a group, which is a label value people write.
///
/// # Errors
/// The sentence for whoever wrote it.
pub(super) fn name(name: &str) -> Result<&str, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    match !name.is_empty() && name.chars().all(plain) {
        true => Ok(name),
        false => Err(format!("{name:?}: a name has letters, digits and ._@-")),
    }
}

/// The processes that have `value` for `key`.
///
/// # Errors
/// The sentence for whoever wrote it.
pub(super) fn matcher_of(key: &str, value: &str) -> Result<Matcher, String> {
    if value.is_empty() {
        return Err(format!("{key} needs a value"));
    }
    let is_path = value.starts_with('/');
    match key {
        "comm" => Ok(Matcher::Comm(first_bytes(value).to_owned())),
        "cgroup" if is_path => Ok(Matcher::Cgroup(value.trim_end_matches('/').to_owned())),
        "unit" => Ok(Matcher::Unit(value.to_owned())),
        "pidfile" if is_path => Ok(Matcher::Pidfile(value.into())),
        "cgroup" | "pidfile" => Err(format!("{value:?}: the path starts with /")),
        _ => Err(format!("{key}: comm, cgroup, unit and pidfile are known")),
    }
}

/// As much of a name as the kernel keeps, less a character that would be cut in two.
fn first_bytes(name: &str) -> &str {
    let end = (0..=COMM_BYTES.min(name.len()))
        .rev()
        .find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// Whether a process with this `/proc/PID/cgroup` is in or below `wanted`, in any hierarchy.
pub(super) fn in_cgroup(text: &str, wanted: &str) -> bool {
    paths(text).any(|path| {
        path.strip_prefix(wanted)
            .is_some_and(|below| below.is_empty() || below.starts_with('/'))
    })
}

/// Whether a process with this `/proc/PID/cgroup` is of the systemd unit `wanted`.
pub(super) fn in_unit(text: &str, wanted: &str) -> bool {
    paths(text).any(|path| path.split('/').any(|part| part == wanted))
}

/// The paths of `/proc/PID/cgroup`: `0::/path` of version 2, `4:memory:/path` of version 1. In another cgroup namespace a
/// path starts with `/..` for each level above our own root.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.map(|mut path| {
        while let Some(rest) = path.strip_prefix("/..") {
            path = rest;
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_group() {
        let matcher = |text: &str| text.parse::<Group>().map(|group| group.matcher);
        assert_eq!(
            matcher("a:comm=postgres"),
            Ok(Matcher::Comm("postgres".into()))
        );
        assert_eq!(
            matcher("a:cgroup=/system.slice/x.service/"),
            Ok(Matcher::Cgroup("/system.slice/x.service".into()))
        );
        assert_eq!(
            matcher("a:unit=postgresql@17-main.service"),
            Ok(Matcher::Unit("postgresql@17-main.service".into()))
        );
        assert_eq!(
            matcher("a:pidfile=/run/a:b=c.pid"),
            Ok(Matcher::Pidfile("/run/a:b=c.pid".into()))
        );
        for bad in [
            "",
            "a",
            "a:comm",
            "a:comm=",
            ":comm=x",
            "a b:comm=x",
            "a:name=x",
            "a:cgroup=x",
            "a:pidfile=x",
        ] {
            assert!(matcher(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_as_long_as_the_kernel_keeps_it() {
        let comm = |name: &str| format!("a:comm={name}").parse::<Group>().unwrap().matcher;
        assert_eq!(
            comm("a-very-long-database"),
            Matcher::Comm("a-very-long-dat".into())
        );
        assert_eq!(
            comm("14-bytes-long-ü"),
            Matcher::Comm("14-bytes-long-".into())
        );
    }

    #[test]
    fn a_cgroup_holds_what_is_below_it_in_either_version() {
        let v2 = "0::/system.slice/postgresql.service/sub\n";
        let v1 = "4:memory:/docker/abc\n1:name=systemd:/system.slice/postgresql.service\n0::/\n";
        for text in [v2, v1, "0::/../../system.slice/postgresql.service\n"] {
            assert!(
                in_cgroup(text, "/system.slice/postgresql.service"),
                "{text}"
            );
            assert!(in_unit(text, "postgresql.service"), "{text}");
            assert!(!in_cgroup(text, "/system.slice/postgresql"), "{text}");
            assert!(!in_unit(text, "postgresql"), "{text}");
        }
        assert!(!in_cgroup("", "/system.slice") && !in_unit("0::\n", "x"));
    }
}

//! Which processes make a group: what `--collector.tasks.group` and `--collector.tasks.preset` say.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgGroup, ValueEnum};

/// The group of flags that ask for the collector.
pub(super) const ASKED_BY: &str = "collector.tasks.groups";
const MAX_THREADS: usize = 2000;
/// In `--help` the switches of all collectors come first.
const BEHIND: usize = 900;
/// Bytes of a name that the kernel keeps (TASK_COMM_LEN less its end).
const COMM_BYTES: usize = 15;

/// `--collector.tasks.*`.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
#[command(
    next_help_heading = "Collectors",
    group = ArgGroup::new(ASKED_BY)
        .args(["collector.tasks.group", "collector.tasks.preset"])
        .multiple(true)
)]
pub struct Flags {
    /// A group of processes whose threads the tasks collector reads, by the name of the main thread, the cgroup, the
    /// systemd unit, or a pid file (with all descendants). May be given again, also with the same name; a process counts
    /// in the first group that has it.
    #[arg(
        id = "collector.tasks.group",
        long = "collector.tasks.group",
        value_name = "NAME:comm|cgroup|unit|pidfile=VALUE",
        display_order = BEHIND
    )]
    pub(super) groups: Vec<Group>,

    /// The same for a database server whose processes are known.
    #[arg(
        id = "collector.tasks.preset",
        long = "collector.tasks.preset",
        value_name = "SERVER",
        value_enum,
        display_order = BEHIND
    )]
    pub(super) presets: Vec<Preset>,

    /// The most threads the tasks collector reads in a scrape; wakelag_tasks_unread_threads says how many are left out.
    #[arg(
        id = "collector.tasks.max-threads",
        long = "collector.tasks.max-threads",
        value_name = "N",
        default_value_t = MAX_THREADS,
        display_order = BEHIND
    )]
    pub(super) max_threads: usize,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            groups: Vec::new(),
            presets: Vec::new(),
            max_threads: MAX_THREADS,
        }
    }
}

impl Flags {
    /// The groups of both flags, those written out first.
    pub(super) fn all(&self) -> impl Iterator<Item = Group> {
        let presets = self.presets.iter().map(|preset| preset.group());
        self.groups.iter().cloned().chain(presets)
    }
}

impl Flags {
    /// The directories of pid files, for a sandbox: a server makes its pid file anew at each start, and often the directory
    /// too, so that the closest one that is there stands for it. Never all of the file system.
    pub fn directories(&self) -> Vec<PathBuf> {
        let pidfiles = self.groups.iter().filter_map(|group| match &group.matcher {
            Matcher::Pidfile(path) => Some(path),
            _ => None,
        });
        let above = pidfiles.filter_map(|path| path.ancestors().skip(1).find(|dir| dir.is_dir()));
        let above = above.filter(|dir| dir.parent().is_some());
        above.map(Path::to_owned).collect()
    }
}

/// A server whose processes are known by the name of their main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Preset {
    /// PostgreSQL.
    Postgres,
    /// MySQL.
    Mysqld,
    /// MariaDB.
    Mariadbd,
}

impl Preset {
    fn group(self) -> Group {
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
        let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("{name:?}: a name has letters, digits and ._@-"));
        }
        if value.is_empty() {
            return Err(format!("{key}= needs a value"));
        }
        let is_path = value.starts_with('/');
        let matcher = match key {
            "comm" => Matcher::Comm(first_bytes(value).to_owned()),
            "cgroup" if is_path => Matcher::Cgroup(value.trim_end_matches('/').to_owned()),
            "unit" => Matcher::Unit(value.to_owned()),
            "pidfile" if is_path => Matcher::Pidfile(value.into()),
            "cgroup" | "pidfile" => return Err(format!("{value:?}: the path starts with /")),
            _ => return Err(format!("{key}: comm, cgroup, unit and pidfile are known")),
        };
        Ok(Group {
            name: name.to_owned(),
            matcher,
        })
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
    fn a_sandbox_has_to_leave_the_closest_directory_of_a_pid_file() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path();
        let directories = |pidfile: &str| {
            let groups = [format!("a:pidfile={pidfile}"), "b:comm=x".to_owned()];
            let groups = groups.iter().map(|group| group.parse().unwrap()).collect();
            Flags {
                groups,
                ..Flags::default()
            }
            .directories()
        };
        for below in ["x.pid", "postgresql/17-main.pid"] {
            let pidfile = run.join(below);
            assert_eq!(directories(pidfile.to_str().unwrap()), [run]);
        }
        assert_eq!(
            directories("/nonexistent/x.pid"),
            [""; 0].map(PathBuf::from)
        );
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

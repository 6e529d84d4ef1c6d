//! What `--collector.tasks.*` say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgGroup;
use clap::builder::ValueParser;

use super::file::File;
use super::group::{Group, Matcher, Preset};

/// The group of flags that ask for the collector.
pub(super) const ASKED_BY: &str = "collector.tasks.groups";
const MAX_THREADS: usize = 2000;
/// In `--help` the switches of all collectors come first.
const BEHIND: usize = 900;

/// `--collector.tasks.*`.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
#[command(
    next_help_heading = "Collectors",
    group = ArgGroup::new(ASKED_BY)
        .args(["collector.tasks.group", "collector.tasks.preset", "collector.tasks.file"])
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
    groups: Vec<Group>,

    /// The same for a database server whose processes are known.
    #[arg(
        id = "collector.tasks.preset",
        long = "collector.tasks.preset",
        value_name = "SERVER",
        value_enum,
        display_order = BEHIND
    )]
    presets: Vec<Preset>,

    /// More groups, in YAML; read again at a reload. A process is looked for in those of the flags first.
    #[arg(
        id = "collector.tasks.file",
        long = "collector.tasks.file",
        value_name = "FILE",
        value_parser = ValueParser::new(File::open),
        display_order = BEHIND
    )]
    file: Option<File>,

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
            file: None,
            max_threads: MAX_THREADS,
        }
    }
}

impl Flags {
    /// The groups of the file that are in force.
    pub(super) fn of_file(&self) -> Arc<[Group]> {
        let none = || Arc::from(Vec::new());
        self.file.as_ref().map_or_else(none, File::groups)
    }

    /// All groups, with those `of_file`: those written out first, then presets.
    pub(super) fn all(&self, of_file: &[Group]) -> Vec<Group> {
        let presets = self.presets.iter().map(|preset| preset.group());
        let flags = self.groups.iter().cloned().chain(presets);
        flags.chain(of_file.iter().cloned()).collect()
    }

    /// Reads the file with groups again, if there is one.
    ///
    /// # Errors
    /// What is wrong with it, with line and column; the groups in force stay.
    pub fn reload(&self) -> Result<(), toolkit::config::Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let reloaded = file.reload();
        match &reloaded {
            Ok(()) => tracing::info!("groups of tasks reloaded"),
            Err(error) => tracing::error!(%error, "groups of tasks refused: those in force stay"),
        }
        reloaded
    }

    /// The directories of the file with groups and of pid files, for a sandbox: a server makes its pid file anew at each
    /// start, and often the directory too, so that the closest one that is there stands for it. Never all of the file
    /// system.
    pub fn directories(&self) -> Vec<PathBuf> {
        let groups = self.all(&self.of_file());
        let pidfiles = groups.into_iter().filter_map(|group| match group.matcher {
            Matcher::Pidfile(path) => Some(path),
            _ => None,
        });
        let above = |path: PathBuf| {
            let mut above = path.ancestors().skip(1).filter(|dir| dir.is_dir());
            above.next().map(Path::to_owned)
        };
        let of_file = self.file.iter().flat_map(File::directories);
        let all = of_file.chain(pidfiles.filter_map(above));
        all.filter(|dir| dir.parent().is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_sandbox_has_to_leave_the_file_and_what_it_names() {
        let (dir, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = dir.path().join("tasks.yaml");
        let pidfile = run.path().join("x.pid");
        let text = format!("groups:\n  - name: a\n    pidfile: {}\n", pidfile.display());
        std::fs::write(&path, text).unwrap();
        let flags = Flags {
            file: Some(File::open(path.to_str().unwrap()).unwrap()),
            ..Flags::default()
        };
        let directories = flags.directories();
        for wanted in [dir.path(), run.path()] {
            assert!(
                directories.iter().any(|dir| dir == wanted),
                "{directories:?}"
            );
        }
    }
}

//! `--collector.tasks.file`: groups of processes in YAML, read at the start and at a reload.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use toolkit::config::locate::{self, Step};
use toolkit::config::{self, Error};

use super::group::{self, Group, Preset};

/// The file, with the groups of it that are in force.
#[derive(Debug, Clone)]
pub(super) struct File(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    groups: Mutex<Arc<[Group]>>,
}

impl File {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or it does not say groups; with line and column.
    pub(super) fn open(path: &str) -> Result<Self, Error> {
        let path = PathBuf::from(path);
        let groups = Mutex::new(load(&path)?);
        Ok(File(Arc::new(Inner { path, groups })))
    }

    /// Reads the file again.
    ///
    /// # Errors
    /// As [`File::open`]; the groups in force stay.
    pub(super) fn reload(&self) -> Result<(), Error> {
        let groups = load(&self.0.path)?;
        *self.0.groups.lock().unwrap_or_else(PoisonError::into_inner) = groups;
        Ok(())
    }

    /// The groups in force.
    pub(super) fn groups(&self) -> Arc<[Group]> {
        let groups = self.0.groups.lock();
        Arc::clone(&groups.unwrap_or_else(PoisonError::into_inner))
    }

    /// Where it is, and where it leads to if it is a link: a file that is replaced is a new one under the old name.
    pub(super) fn directories(&self) -> BTreeSet<PathBuf> {
        let path = &self.0.path;
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        let directories =
            [path, &target].map(|file| file.parent().map(|dir| Path::new(".").join(dir)));
        directories.into_iter().flatten().collect()
    }
}

/// The file as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    groups: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    preset: Option<Preset>,
    comm: Option<String>,
    cgroup: Option<String>,
    unit: Option<String>,
    pidfile: Option<String>,
}

fn load(path: &Path) -> Result<Arc<[Group]>, Error> {
    parse(path, &config::read(path)?)
}

fn parse(path: &Path, text: &str) -> Result<Arc<[Group]>, Error> {
    let written: Written = config::parse(path, text)?;
    let refuse = |steps: &[Step], message| locate::error(path, text, steps, message);
    if written.groups.is_empty() {
        let message = "no groups; name at least one".to_owned();
        return Err(refuse(&[Step::Key("groups")], message));
    }
    let mut groups = Vec::new();
    for (index, entry) in written.groups.iter().enumerate() {
        let more = entry.groups().map_err(|(key, message)| {
            let steps = [Step::Key("groups"), Step::Item(index)];
            let key = key.map(Step::Key);
            let steps: Vec<_> = steps.into_iter().chain(key).collect();
            refuse(&steps, message)
        })?;
        groups.extend(more);
    }
    Ok(groups.into())
}

impl Entry {
    /// A group for each way it names processes, or the key that is wrong, if it is one, and why.
    fn groups(&self) -> Result<Vec<Group>, (Option<&'static str>, String)> {
        let preset = self.preset.map(Preset::group);
        let name = match (&self.name, &preset) {
            (Some(name), _) => group::name(name).map_err(|why| (Some("name"), why))?,
            (None, Some(preset)) => &preset.name,
            (None, None) => return Err((None, "a group without a preset needs a name".to_owned())),
        };
        let mut matchers: Vec<_> = preset.iter().map(|preset| preset.matcher.clone()).collect();
        for (key, value) in [
            ("comm", &self.comm),
            ("cgroup", &self.cgroup),
            ("unit", &self.unit),
            ("pidfile", &self.pidfile),
        ] {
            if let Some(value) = value {
                let matcher = group::matcher_of(key, value);
                matchers.push(matcher.map_err(|why| (Some(key), why))?);
            }
        }
        if matchers.is_empty() {
            let message = "comm, cgroup, unit, pidfile or preset is needed".to_owned();
            return Err((None, message));
        }
        let groups = matchers.into_iter().map(|matcher| Group {
            name: name.to_owned(),
            matcher,
        });
        Ok(groups.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTATION: &str = include_str!("../../../../docs/operations.md");

    fn groups(text: &str) -> Result<Vec<Group>, String> {
        let groups = parse(Path::new("tasks.yaml"), text);
        groups
            .map(|groups| groups.to_vec())
            .map_err(|error| error.to_string())
    }

    fn flags(groups: &[&str]) -> Vec<Group> {
        groups.iter().map(|group| group.parse().unwrap()).collect()
    }

    #[test]
    fn a_group_is_what_the_flag_of_the_same_words_says() {
        let text = "groups:\n- name: db\n  unit: postgresql@17-main.service\n  comm: pgbouncer\n- preset: mysqld\n\
                    - {preset: mariadbd, name: shop, pidfile: /run/x.pid}\n- {name: db, cgroup: /a/b/}\n";
        let want = flags(&[
            "db:comm=pgbouncer",
            "db:unit=postgresql@17-main.service",
            "mysqld:comm=mysqld",
            "shop:comm=mariadbd",
            "shop:pidfile=/run/x.pid",
            "db:cgroup=/a/b",
        ]);
        assert_eq!(groups(text), Ok(want));
    }

    #[test]
    fn a_mistake_is_refused_where_it_stands() {
        for (text, at, says) in [
            ("", "1:1", "groups"),
            ("groups: []\n", "1:9", "no groups; name at least one"),
            ("group: []\n", "1:1", "unknown field `group`"),
            (
                "groups:\n- name: a\n  com: x\n",
                "3:3",
                "unknown field `com`",
            ),
            (
                "groups:\n- comm: x\n",
                "2:3",
                "a group without a preset needs a name",
            ),
            (
                "groups:\n- name: a\n",
                "2:3",
                "comm, cgroup, unit, pidfile or preset",
            ),
            (
                "groups:\n- name: a b\n  comm: x\n",
                "2:9",
                "\"a b\": a name has letters",
            ),
            (
                "groups:\n- name: a\n  comm: \"\"\n",
                "3:9",
                "comm needs a value",
            ),
            (
                "groups:\n- name: a\n  comm: [x, y]\n",
                "3:9",
                "expected a string",
            ),
            (
                "groups:\n- name: a\n  pidfile: run/x.pid\n",
                "3:12",
                "starts with /",
            ),
            ("groups:\n- name: a\n  cgroup: x\n", "3:11", "starts with /"),
            (
                "groups:\n- preset: oracle\n",
                "2:11",
                "unknown variant `oracle`",
            ),
            (
                "groups:\n- preset: mysqld\n  preset: mysqld\n",
                "2:3",
                "duplicate",
            ),
        ] {
            let refused = groups(text).unwrap_err();
            let where_ = format!("tasks.yaml:{at}: ");
            let well = refused.starts_with(&where_) && refused.contains(says);
            assert!(well, "{text:?}: {refused}");
        }
    }

    #[test]
    fn the_documented_file_is_one() {
        let (_, behind) = DOCUMENTATION.split_once("--collector.tasks.file").unwrap();
        let (_, yaml) = behind.split_once("```yaml\n").unwrap();
        let (yaml, _) = yaml.split_once("```").unwrap();
        assert_eq!(groups(yaml).map(|groups| groups.len()), Ok(5), "{yaml}");
    }

    #[test]
    fn a_reload_takes_a_good_file_and_leaves_the_groups_of_before_for_a_bad_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tasks.yaml");
        let path = path.to_str().unwrap();
        std::fs::write(path, "groups: [{preset: mysqld}]\n").unwrap();
        let file = File::open(path).unwrap();
        let first = file.groups();
        for (text, wrong) in [("groups: [{preset: x}]\n", ":1:19: "), ("{", ":")] {
            std::fs::write(path, text).unwrap();
            assert!(file.reload().unwrap_err().to_string().contains(wrong));
            assert!(Arc::ptr_eq(&file.groups(), &first));
        }
        std::fs::remove_file(path).unwrap();
        assert!(
            file.reload()
                .unwrap_err()
                .to_string()
                .contains("cannot read")
        );
        std::fs::write(path, "groups: [{preset: postgres}]\n").unwrap();
        assert!(file.reload().is_ok());
        assert_eq!(*file.groups(), *flags(&["postgres:comm=postgres"]));
        assert!(File::open("/nonexistent/tasks.yaml").is_err());
    }
}

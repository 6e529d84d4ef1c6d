//! Which processes there are now, and which group each is in.

use std::collections::BTreeMap;

use super::group::{Group, Matcher, in_cgroup, in_unit};
use super::thread::{Stat, living, stat};
use crate::parse::{self, ParseError};
use crate::root::{Error, Root};

/// A process of a group.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its number.
    pub(super) pid: u32,
    /// Position in the list of groups.
    pub(super) group: usize,
    /// How many threads it says it has.
    pub(super) threads: u64,
}

/// The processes of all groups, by number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    /// Those of a group.
    pub(super) members: Vec<Member>,
    /// How many ended between being listed and being read.
    pub(super) vanished: u64,
    /// The first file that could not be read of a process whose group is therefore not known.
    pub(super) unknown: Option<Error>,
}

impl Census {
    /// Looks at every process; a process is of the first of `groups` that has it.
    ///
    /// # Errors
    /// The processes cannot be listed.
    pub(super) fn take(root: &Root, groups: &[Group]) -> Result<Self, Error> {
        let mut census = Census::default();
        let mut processes = BTreeMap::new();
        for pid in root.numbers("")? {
            // Not /proc/PID/stat, which adds up all threads to say the same.
            match living(root, &format!("{pid}/task/{pid}/stat"), stat) {
                Ok(Some(stat)) if stat.is_kernel => {}
                Ok(Some(stat)) => drop(processes.insert(pid, stat)),
                Ok(None) => census.vanished += 1,
                Err(error) => census.unknown = census.unknown.or(Some(error)),
            }
        }
        let search = Search::start(root, groups);
        for (pid, stat) in &processes {
            match search.group_of(root, *pid, &processes) {
                Ok(Some(group)) => census.members.push(Member {
                    pid: *pid,
                    group,
                    threads: stat.threads,
                }),
                Ok(None) => {}
                Err(error) => census.unknown = census.unknown.or(Some(error)),
            }
        }
        // Every PID namespace has a process 1.
        if census.members.is_empty() && !processes.contains_key(&1) && census.unknown.is_none() {
            census.unknown = Some(root.hidden("1"));
        }
        Ok(census)
    }
}

/// The groups, with what has to be known once a scrape to tell who is in them.
struct Search<'g> {
    groups: &'g [Group],
    /// For each group by pid file, the process it names.
    roots: Vec<Option<u32>>,
    reads_cgroup: bool,
}

impl<'g> Search<'g> {
    fn start(root: &Root, groups: &'g [Group]) -> Self {
        let named = |group: &Group| match &group.matcher {
            Matcher::Pidfile(path) => {
                let file = root.parse_once(root.file(path), pidfile);
                // No pid file: the server does not run.
                root.optional(file)
            }
            _ => None,
        };
        let is_cgroup =
            |group: &Group| matches!(group.matcher, Matcher::Cgroup(_) | Matcher::Unit(_));
        Search {
            groups,
            roots: groups.iter().map(named).collect(),
            reads_cgroup: groups.iter().any(is_cgroup),
        }
    }

    fn group_of(
        &self,
        root: &Root,
        pid: u32,
        processes: &BTreeMap<u32, Stat>,
    ) -> Result<Option<usize>, Error> {
        let cgroup = match self.reads_cgroup {
            true => living(root, &format!("{pid}/cgroup"), |text| Ok(text.to_owned()))?,
            false => None,
        };
        let cgroup = cgroup.unwrap_or_default();
        let comm = processes.get(&pid).map(|stat| stat.comm.as_str());
        let has = |group: &Group, named: &Option<u32>| match &group.matcher {
            Matcher::Comm(wanted) => comm == Some(wanted),
            Matcher::Cgroup(wanted) => in_cgroup(&cgroup, wanted),
            Matcher::Unit(wanted) => in_unit(&cgroup, wanted),
            Matcher::Pidfile(_) => named.is_some_and(|named| descends(pid, named, processes)),
        };
        let mut groups = self.groups.iter().zip(&self.roots);
        Ok(groups.position(|(group, named)| has(group, named)))
    }
}

/// Whether `pid` is `ancestor` or was started by it, directly or not.
fn descends(pid: u32, ancestor: u32, processes: &BTreeMap<u32, Stat>) -> bool {
    let mut at = pid;
    // Parents were read at different times: a number used again could make a circle of them.
    for _ in 0..=processes.len() {
        if at == ancestor {
            return true;
        }
        match processes.get(&at) {
            Some(stat) => at = stat.parent,
            None => return false,
        }
    }
    false
}

/// A pid file: a number in its first line. PostgreSQL's has more lines.
///
/// # Errors
/// The first line is not the number of a process.
fn pidfile(text: &str) -> Result<u32, ParseError> {
    let first = text.lines().next().unwrap_or_default();
    let pid = parse::number(first)?;
    u32::try_from(pid).map_err(|error| ParseError::new(1, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(comm: &str, parent: u32) -> Stat {
        Stat {
            comm: comm.to_owned(),
            parent,
            is_kernel: false,
            threads: 1,
            start_ticks: 0,
            policy: 0,
        }
    }

    #[test]
    fn a_descendant_is_found_through_its_parents_and_a_circle_ends() {
        let tree = [
            (1, 0),
            (10, 1),
            (11, 10),
            (12, 11),
            (20, 1),
            (30, 31),
            (31, 30),
        ];
        let tree = tree.map(|(pid, parent)| (pid, process("x", parent)));
        let tree = BTreeMap::from(tree);
        let below = |ancestor| {
            let pids = tree.keys().copied();
            pids.filter(|pid| descends(*pid, ancestor, &tree))
                .collect::<Vec<_>>()
        };
        assert_eq!(below(10), [10, 11, 12]);
        assert_eq!(below(31), [30, 31]);
        assert_eq!(below(99), [0; 0]);
    }

    #[test]
    fn a_pid_file_starts_with_a_number() {
        assert_eq!(pidfile("1042\n"), Ok(1042));
        assert_eq!(pidfile("1042"), Ok(1042));
        // PostgreSQL's postmaster.pid.
        assert_eq!(
            pidfile("1042\n/var/lib/postgresql/17/main\n1764540000\n"),
            Ok(1042)
        );
        for bad in ["", "\n1042\n", "x\n", "-1\n", "4294967296\n"] {
            assert!(pidfile(bad).is_err(), "{bad:?}");
        }
    }
}

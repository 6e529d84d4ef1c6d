//! The groups, and the names they are published under.

use super::group::Group;

/// Groups in the order a process is looked for in them. Those of one name are published as one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Roster {
    /// All of them.
    pub(super) groups: Vec<Group>,
    /// The label values.
    pub(super) names: Vec<String>,
    /// For each group the position of its name.
    pub(super) name_of: Vec<usize>,
}

impl Roster {
    pub(super) fn of(groups: Vec<Group>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut name_of = Vec::with_capacity(groups.len());
        for group in &groups {
            let known = names.iter().position(|name| *name == group.name);
            name_of.push(known.unwrap_or(names.len()));
            if known.is_none() {
                names.push(group.name.clone());
            }
        }
        Roster {
            groups,
            names,
            name_of,
        }
    }

    /// For each name its position in `other`.
    pub(super) fn positions_in(&self, other: &Roster) -> Vec<Option<usize>> {
        let position = |name| other.names.iter().position(|known| known == name);
        self.names.iter().map(position).collect()
    }
}

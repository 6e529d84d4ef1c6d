//! The catalogue of presets: workloads that need nothing written to be asked.
//!
//! All of them only read, and none of them asks for more than about one percent of a CPU at 50 us a query.

mod point_select;
mod select1;

use std::sync::Arc;

use crate::workload::{Dialect, Fixture, Param, Pattern, Protocol, Statement, Workload};

/// A workload in every dialect.
#[derive(Debug)]
pub struct Preset {
    /// Its name in a target's list and in the label `workload`.
    pub name: &'static str,
    /// What it shows, as one sentence.
    pub about: &'static str,
    postgres: Words,
    mysql: Words,
    sqlite: Words,
    params: &'static [Param],
    pattern: Pattern,
}

/// What differs by dialect.
#[derive(Debug)]
struct Words {
    text: &'static str,
    fixture: Option<Fixture>,
}

/// Every preset.
pub static PRESETS: &[Preset] = &[select1::HOT, select1::IDLE, point_select::POINT_SELECT];

impl Preset {
    /// The preset in one dialect.
    fn workload(&self, dialect: Dialect) -> Arc<Workload> {
        let words = match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::Mysql => &self.mysql,
            Dialect::Sqlite => &self.sqlite,
        };
        Arc::new(Workload {
            name: self.name.to_owned(),
            statement: Statement {
                text: words.text.to_owned(),
                params: self.params.to_vec(),
                protocol: Protocol::Prepared,
            },
            pattern: self.pattern,
            lanes: 1,
            fixture: words.fixture,
        })
    }
}

/// The preset called `name`, if there is one.
pub fn find(name: &str, dialect: Dialect) -> Option<Arc<Workload>> {
    let preset = PRESETS.iter().find(|preset| preset.name == name)?;
    Some(preset.workload(dialect))
}

/// Every preset in one dialect.
pub fn all(dialect: Dialect) -> Vec<Arc<Workload>> {
    PRESETS
        .iter()
        .map(|preset| preset.workload(dialect))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_of_their_own_and_one_draw_a_placeholder() {
        for (index, preset) in PRESETS.iter().enumerate() {
            assert!(
                PRESETS[..index]
                    .iter()
                    .all(|other| other.name != preset.name),
                "{}",
                preset.name
            );
            assert!(preset.about.ends_with('.'), "{}", preset.name);
            let draws = preset.params.len();
            assert_eq!(preset.mysql.text.matches('?').count(), draws);
            assert_eq!(preset.sqlite.text.matches('?').count(), draws);
            assert_eq!(preset.postgres.text.matches('$').count(), draws);
        }
    }

    #[test]
    fn a_preset_takes_at_most_one_percent_of_a_cpu_at_50_us_a_query() {
        for preset in PRESETS {
            let busy = 50e-6 * f64::from(preset.pattern.queries);
            let share = busy / preset.pattern.every.as_secs_f64();
            assert!(share <= 0.0101, "{}: {share}", preset.name);
        }
    }
}

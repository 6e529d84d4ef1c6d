//! What is asked of a database: a statement, its parameters, the pattern in time, and the rows it needs.

use std::time::Duration;

use serde::Deserialize;

/// One workload, for one dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Label `workload`.
    pub name: String,
    /// What one query is.
    pub statement: Statement,
    /// When queries are asked.
    pub pattern: Pattern,
    /// How many connections ask at the same time, each in this pattern.
    pub lanes: u16,
    /// The rows it reads, where it brings its own.
    pub fixture: Option<Fixture>,
}

/// One statement with the parameters it is executed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Text in the engine's own words, with its own placeholders.
    pub text: String,
    /// A draw for each placeholder.
    pub params: Vec<Param>,
    /// How it is sent.
    pub protocol: Protocol,
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Parsed once at connect, then executed with its parameters.
    #[default]
    Prepared,
    /// As text, parsed each time, with the parameters written into it.
    Simple,
    /// As prepared, but so many times at once: all of them in one write, with one Sync behind the last. That is one
    /// query in every count and every time, from the first byte of the first to the last byte of the last reply.
    Pipeline(u16),
}

impl Protocol {
    /// How often one query executes the statement.
    pub fn statements(self) -> u16 {
        match self {
            Protocol::Prepared | Protocol::Simple => 1,
            Protocol::Pipeline(statements) => statements,
        }
    }
}

/// When queries are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// From one intended start to the next; zero asks again as soon as the reply is there.
    pub every: Duration,
    /// How many queries are asked back to back at an intended start.
    pub queries: u16,
}

/// How one parameter is drawn, outside the timed span.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    int: Int,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Int {
    uniform: (i64, i64),
}

impl Param {
    /// An integer, each from `low` to `high` (both included) as likely.
    pub const fn uniform(low: i64, high: i64) -> Self {
        Param {
            int: Int {
                uniform: (low, high),
            },
        }
    }

    /// Whether there is a value to draw.
    pub fn is_valid(&self) -> bool {
        self.int.uniform.0 <= self.int.uniform.1
    }

    /// Draws a value.
    pub fn draw(&self, draws: &mut Draws) -> i64 {
        let (low, high) = self.int.uniform;
        let values = u128::from(high.abs_diff(low)) + 1;
        // Multiply and shift: the bias is below values / 2^64.
        let offset = (u128::from(draws.number()) * values) >> 64;
        low.wrapping_add(offset as i64)
    }
}

/// A reproducible stream of numbers (SplitMix64, Steele and others, OOPSLA 2014): few nanoseconds a draw, and two
/// runs of a lane ask the same.
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    /// The stream that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Draws(seed)
    }

    /// The next number, uniform over all of u64.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// A small table the probe makes for itself at the first connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixture {
    /// A query that fails, or returns no row or NULL, while the table is not there.
    pub check: &'static str,
    /// Statements that make and fill it; running them again changes nothing.
    pub create: &'static str,
    /// Statements that let everybody read it, for where somebody else has to make it; empty where nobody else can.
    pub grant: &'static str,
}

/// Whose words a statement is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL: placeholders `$1`, `$2`.
    Postgres,
    /// MySQL and MariaDB: placeholders `?`.
    Mysql,
    /// SQLite: placeholders `?`.
    Sqlite,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_draw_reaches_both_bounds_and_nothing_else() {
        let mut draws = Draws::new(1);
        let param = Param::uniform(-2, 3);
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[usize::try_from(param.draw(&mut draws) + 2).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|count| (800..1200).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn the_widest_range_does_not_overflow() {
        let mut draws = Draws::new(2);
        let wide = Param::uniform(i64::MIN, i64::MAX);
        assert_ne!(wide.draw(&mut draws), wide.draw(&mut draws));
        assert_eq!(Param::uniform(7, 7).draw(&mut draws), 7);
        assert!(!Param::uniform(2, 1).is_valid());
    }
}

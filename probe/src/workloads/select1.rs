//! `SELECT 1`: what a round trip costs with next to no work in the database.

use std::time::Duration;

use super::{Preset, Words};
use crate::workload::Pattern;

const SERVER: Words = Words {
    text: "SELECT 1",
    fixture: None,
};

/// SQLite answers a bare `SELECT 1` in 0.3 us without looking at its file, which is a test of this process only. This
/// one takes and gives back the file's lock and looks at its first page.
const SQLITE: Words = Words {
    text: "SELECT EXISTS (SELECT 1 FROM sqlite_schema)",
    fixture: None,
};

/// Twenty queries back to back every 100 ms. A gap of 5 ms between queries already costs as much as one of 20 ms, so a
/// hot figure needs queries that follow each other at once; a run of twenty is hot but for its start (which is
/// `position="first"`), and 190 hot queries a second give a p99 within a minute at one percent of a CPU.
pub(super) const HOT: Preset = Preset {
    name: "select1",
    about: "SELECT 1 in runs of twenty: a round trip between two busy CPUs.",
    postgres: SERVER,
    mysql: SERVER,
    sqlite: SQLITE,
    params: &[],
    pattern: Pattern {
        every: Duration::from_millis(100),
        queries: 20,
    },
};

/// Four queries back to back every 250 ms: long enough for the deepest idle state on any hardware (the menu governor
/// asks for it from a few milliseconds on), four a second for a p50 within two minutes. The first query pays for the
/// wake-ups of both sides, the other three are its control: same connection, same statement, same quarter second.
pub(super) const IDLE: Preset = Preset {
    name: "select1-idle",
    about: "SELECT 1 after a quarter second of silence: what waking both CPUs costs.",
    postgres: SERVER,
    mysql: SERVER,
    sqlite: SQLITE,
    params: &[],
    pattern: Pattern {
        every: Duration::from_millis(250),
        queries: 4,
    },
};

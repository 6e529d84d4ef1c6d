//! One row by its primary key, out of a thousand: the smallest query that does what a database is for.

use std::time::Duration;

use super::{Preset, Words};
use crate::workload::{Fixture, Param, Pattern};

/// A thousand rows of 100 bytes stay in any cache: what varies is the CPU, not the storage.
const ROWS: i64 = 1000;

/// Only the owner of the database decides whether the probe may have a schema. Two lanes may arrive at once, and
/// `CREATE ... IF NOT EXISTS` does not wait for another session's: the lock makes the second one wait.
const POSTGRES: Fixture = Fixture {
    check: "SELECT to_regclass('wakelag.point')",
    create: "\
BEGIN;
SELECT pg_advisory_xact_lock(7809911);
CREATE SCHEMA IF NOT EXISTS wakelag;
CREATE TABLE IF NOT EXISTS wakelag.point (id integer PRIMARY KEY, pad text NOT NULL);
INSERT INTO wakelag.point SELECT id, repeat('x', 100) FROM generate_series(1, 1000) AS id ON CONFLICT DO NOTHING;
COMMIT;",
    grant: "GRANT USAGE ON SCHEMA wakelag TO PUBLIC;\nGRANT SELECT ON wakelag.point TO PUBLIC;",
};

const SQLITE: Fixture = Fixture {
    check: "SELECT 1 FROM wakelag_point WHERE id = 1000",
    create: "\
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS wakelag_point (id INTEGER PRIMARY KEY, pad TEXT NOT NULL);
INSERT OR IGNORE INTO wakelag_point
  WITH RECURSIVE row(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM row WHERE id < 1000)
  SELECT id, printf('%.100c', 'x') FROM row;
COMMIT;",
    grant: "",
};

/// Four selects back to back every 100 ms: forty a second give a p50 within a quarter minute and both positions.
pub(super) const POINT_SELECT: Preset = Preset {
    name: "point-select",
    about: "One row of a thousand by primary key, in runs of four.",
    postgres: Words {
        text: "SELECT pad FROM wakelag.point WHERE id = $1",
        fixture: Some(POSTGRES),
    },
    sqlite: Words {
        text: "SELECT pad FROM wakelag_point WHERE id = ?",
        fixture: Some(SQLITE),
    },
    params: &[Param::uniform(1, ROWS)],
    pattern: Pattern {
        every: Duration::from_millis(100),
        queries: 4,
    },
};

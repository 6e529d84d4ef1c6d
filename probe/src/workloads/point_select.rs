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

/// Two lanes may arrive at once: the second one's statements wait for the first one's, and change nothing. MySQL knows
/// no series of numbers and MariaDB's is its own, so the rows are made of three digits.
const MYSQL: Fixture = Fixture {
    check: "SELECT 1 FROM wakelag.point WHERE id = 1000",
    create: "\
CREATE DATABASE IF NOT EXISTS wakelag;
CREATE TABLE IF NOT EXISTS wakelag.point (id integer PRIMARY KEY, pad varchar(100) NOT NULL);
INSERT IGNORE INTO wakelag.point
  SELECT 1 + a.n + 10 * b.n + 100 * c.n, REPEAT('x', 100)
  FROM (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL
        SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS a,
       (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL
        SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS b,
       (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL
        SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS c;",
    grant: "GRANT SELECT ON wakelag.point TO '{user}'@'%';",
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
    mysql: Words {
        text: "SELECT pad FROM wakelag.point WHERE id = ?",
        fixture: Some(MYSQL),
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

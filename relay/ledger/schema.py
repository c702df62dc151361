"""The SQLite schema and its migrations.

`user_version` counts the migrations that have run. Inserting into the view `admission` is the one way in: its trigger
writes the record, its payload and its outside ids in one statement, refuses a key that stands already, and refuses a
fence that is not the epoch. So an append that waits alone is one autocommit statement, one trip to the thread.
"""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE interaction(
        seq INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        key TEXT NOT NULL UNIQUE,
        verb TEXT NOT NULL,
        actor TEXT NOT NULL,
        role TEXT NOT NULL,
        scope TEXT NOT NULL,
        causes BLOB NOT NULL,
        version INTEGER NOT NULL,
        digest BLOB NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE payload(seq INTEGER PRIMARY KEY, salt BLOB NOT NULL, body BLOB NOT NULL) STRICT;
    CREATE TABLE outside(name TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(name, seq)) STRICT, WITHOUT ROWID;
    CREATE TABLE cursor(rule TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE checkpoint(
        concept TEXT PRIMARY KEY, version INTEGER NOT NULL, seq INTEGER NOT NULL, state BLOB NOT NULL
    ) STRICT;
    CREATE TABLE epoch(one INTEGER PRIMARY KEY CHECK(one = 1), value INTEGER NOT NULL) STRICT;
    INSERT INTO epoch VALUES (1, 0);
    CREATE VIEW admission AS SELECT
        i.seq, i.id, i.key, i.verb, i.actor, i.role, i.scope, i.causes, i.version, i.digest, i.at,
        p.salt, p.body, '' AS outside, 0 AS fence
        FROM interaction i LEFT JOIN payload p USING (seq);
    CREATE TRIGGER admit INSTEAD OF INSERT ON admission
    WHEN (NEW.fence IS NULL OR NEW.fence = (SELECT value FROM epoch))
        AND NOT EXISTS (SELECT 1 FROM interaction WHERE key = NEW.key)
    BEGIN
        INSERT INTO interaction VALUES (NEW.seq, NEW.id, NEW.key, NEW.verb, NEW.actor, NEW.role, NEW.scope,
            NEW.causes, NEW.version, NEW.digest, NEW.at);
        INSERT INTO payload VALUES (NEW.seq, NEW.salt, NEW.body);
        INSERT INTO outside SELECT value, NEW.seq FROM json_each(NEW.outside);
    END;
    """,
)

VERSION = len(MIGRATIONS)

COLUMNS = "i.seq, i.id, i.key, i.verb, i.actor, i.role, i.scope, i.causes, i.version, i.digest, i.at, p.salt, p.body"
SELECT = f"SELECT {COLUMNS} FROM interaction i LEFT JOIN payload p USING (seq)"
ADMIT = "INSERT INTO admission VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
ADMIT_MORE = ",(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
"""Behind `ADMIT`, once for each further record of one statement."""
HEAD = "SELECT coalesce(max(seq), 0) FROM interaction"
EPOCH = "SELECT value FROM epoch"
WRITTEN_SINCE = "SELECT seq FROM interaction WHERE seq > ?"
FIRSTS = f"{SELECT} WHERE i.key IN (SELECT value FROM json_each(?))"
FORGET_NAME = "DELETE FROM outside WHERE name = ?2 AND seq = (SELECT seq FROM interaction WHERE id = ?1)"
EMPTY = (
    "UPDATE payload SET salt = ?3, body = ?2"
    " WHERE seq = (SELECT seq FROM interaction WHERE id = ?1) AND salt != ?3"
)
"""A residue is as long as what it stands for, so SQLite writes it over the old bytes instead of moving the row."""
RAISE_EPOCH = "UPDATE epoch SET value = value + 1 RETURNING value"

PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA wal_autocheckpoint=4000",
    "PRAGMA secure_delete=ON",
)
"""Of the writing connection. FULL: what was acknowledged survives a power cut. A checkpoint at 4,000 pages, since the
usual 1,000 makes the slowest appends. What is deleted is overwritten
(https://www.sqlite.org/pragma.html, secure_delete)."""

"""All tables, as portable SQL with named migrations. Released migrations are never edited; a change is a new one.

    suite    standards by the hash of their body; `hash` is the standard's own (a selection of tasks shares it)
    payload  what was decided, by the hash of its text; append-only, equal content is one row
    cache    verdict key to payload; the first stays
    grading  one per begun grading; `id` is the order, whatever the clock says
    trial    one per graded attempt of a trial; several for the same task and number are attempts, the last counts
    verdict  status, score and tag as scored, the rest in the payload

Texts compare byte by byte, so "A" and "a" are two ids. Status words are numbers in `verdict`: see `STATUSES`.
"""

from __future__ import annotations

from collections.abc import Mapping

SQLITE: Mapping[str, str] = {"id": "INTEGER PRIMARY KEY", "bytes": "BLOB", "real": "REAL"}
"""What differs between databases. PostgreSQL: an identity column, BYTEA, DOUBLE PRECISION."""

STATUSES = ("graded", "unknown", "error", "skipped")
"""Position = the number in `verdict.status`."""

NEW = "CREATE TABLE migration (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"

MIGRATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "0001_gradings",
        (
            "CREATE TABLE suite (id {id}, digest {bytes} NOT NULL UNIQUE, hash TEXT NOT NULL, name TEXT NOT NULL,"
            " version TEXT NOT NULL, body TEXT NOT NULL)",
            "CREATE TABLE payload (id {id}, hash {bytes} NOT NULL UNIQUE, body TEXT NOT NULL)",
            'CREATE TABLE cache (id {id}, "key" {bytes} NOT NULL UNIQUE,'
            " payload_id INTEGER NOT NULL REFERENCES payload (id))",
            "CREATE TABLE grading (id {id}, name TEXT NOT NULL UNIQUE,"
            " suite_id INTEGER NOT NULL REFERENCES suite (id), created_at TEXT NOT NULL, status TEXT NOT NULL,"
            " planned INTEGER, options TEXT NOT NULL, lost TEXT NOT NULL, notices TEXT NOT NULL)",
            "CREATE TABLE trial (id {id}, grading_id INTEGER NOT NULL REFERENCES grading (id), task TEXT NOT NULL,"
            " number INTEGER NOT NULL, ended_by TEXT, measurements TEXT NOT NULL, trace TEXT)",
            "CREATE INDEX trial_grading ON trial (grading_id)",
            "CREATE TABLE verdict (id {id}, trial_id INTEGER NOT NULL REFERENCES trial (id),"
            " criterion TEXT NOT NULL, status INTEGER NOT NULL, score {real}, failure_tag TEXT,"
            " payload_id INTEGER NOT NULL REFERENCES payload (id))",
            "CREATE INDEX verdict_trial ON verdict (trial_id)",
        ),
    ),
    (
        "0002_headlines",
        (
            "ALTER TABLE grading ADD COLUMN headline TEXT",
            "ALTER TABLE grading ADD COLUMN decision TEXT",
            "ALTER TABLE grading ADD COLUMN trials INTEGER",
            "ALTER TABLE grading ADD COLUMN origin TEXT",
            "CREATE UNIQUE INDEX grading_origin ON grading (origin)",
        ),
    ),
)

ADD_MIGRATION = "INSERT INTO migration (name, applied_at) VALUES (?, ?)"
APPLIED = "SELECT name FROM migration"

ADD_SUITE = (
    "INSERT INTO suite (digest, hash, name, version, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
SUITE_BODY = "SELECT body FROM suite WHERE digest = ?"
MEND_SUITE = "UPDATE suite SET hash = ?, name = ?, version = ?, body = ? WHERE digest = ?"
ADD_GRADING = (
    "INSERT INTO grading (name, suite_id, created_at, status, planned, options, lost, notices)"
    " VALUES (?, (SELECT id FROM suite WHERE digest = ?), ?, ?, ?, ?, ?, ?)"
)
ADD_PAYLOAD = "INSERT INTO payload (id, hash, body) VALUES (?, ?, ?)"
ADD_KEY = 'INSERT INTO cache ("key", payload_id) VALUES (?, ?) ON CONFLICT DO NOTHING'
ADD_TRIAL = (
    "INSERT INTO trial (id, grading_id, task, number, ended_by, measurements, trace)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
ADD_VERDICT = (
    "INSERT INTO verdict (trial_id, criterion, status, score, failure_tag, payload_id)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
LAST_PAYLOAD = "SELECT coalesce(max(id), 0) FROM payload"
LAST_TRIAL = "SELECT coalesce(max(id), 0) FROM trial"
PAYLOAD_IDS = "SELECT hash, id FROM payload WHERE hash IN "
FINISH = (
    "UPDATE grading SET status = ?, lost = ?, notices = ?, headline = ?, decision = ?, origin = ?, trials ="
    " (SELECT count(*) FROM (SELECT DISTINCT task, number FROM trial WHERE grading_id = ?) AS different) WHERE id = ?"
)

GRADING_NAMES = "SELECT id, name FROM grading ORDER BY id"
NAMES_LIKE = "SELECT name FROM grading WHERE substr(name, 1, ?) = ?"
BY_ORIGIN = "SELECT name FROM grading WHERE origin = ?"
UNFINISHED = (
    "SELECT g.id, g.name FROM grading g JOIN suite s ON s.id = g.suite_id"
    " WHERE g.status = 'running' AND s.hash = ? AND g.options = ? ORDER BY g.id DESC"
)
COMMITTED = "SELECT DISTINCT task, number FROM trial WHERE grading_id = ?"
ANY_KEY = "SELECT 1 FROM cache LIMIT 1"
FIND = 'SELECT c."key", p.body FROM cache c JOIN payload p ON p.id = c.payload_id WHERE c."key" IN '
RUNS = (
    "SELECT g.name, s.name, s.version, s.hash, g.created_at, g.status, coalesce(g.trials, (SELECT count(*) FROM"
    " (SELECT DISTINCT task, number FROM trial WHERE grading_id = g.id) AS different)), g.planned, g.headline,"
    " g.decision, g.notices FROM grading g JOIN suite s ON s.id = g.suite_id ORDER BY g.id"
)
GRADING = (
    "SELECT g.name, s.body, s.digest, g.status, g.created_at, g.planned, g.options, g.lost, g.notices, g.headline,"
    " g.decision FROM grading g JOIN suite s ON s.id = g.suite_id WHERE g.id = ?"
)
CONTENTS = (
    "SELECT t.id, v.criterion, v.status, v.score, v.failure_tag, p.hash FROM trial t"
    " JOIN verdict v ON v.trial_id = t.id JOIN payload p ON p.id = v.payload_id WHERE t.grading_id = ?"
    " ORDER BY t.id, v.id"
)
TRIALS = "SELECT id, task, number, ended_by, measurements, trace FROM trial WHERE grading_id = ? ORDER BY id"
VERDICTS = (
    "SELECT v.trial_id, v.criterion, v.status, v.score, v.failure_tag, v.payload_id, p.body FROM trial t"
    " JOIN verdict v ON v.trial_id = t.id JOIN payload p ON p.id = v.payload_id"
    " WHERE t.grading_id = ? ORDER BY v.trial_id, v.id"
)
# Columns: many rows as one text each, since a row that comes one by one costs ten times as much.
TRIAL_COLUMNS = (
    "SELECT count(*), group_concat(id), json_group_array(task), group_concat(number), json_group_array(ended_by),"
    " json_group_array(measurements) FROM"
    " (SELECT id, task, number, ended_by, measurements FROM trial WHERE grading_id = ? AND id > ? ORDER BY id LIMIT ?)"
)
RANGE = "SELECT min(id), max(id), count(*) FROM verdict WHERE trial_id BETWEEN ? AND ?"
_COLUMNS = (
    "SELECT count(*), sum(status IN (0, 1, 2, 3)), sum(status = 0 AND score IS NULL),"
    " group_concat(id * 8 + status * 2 + (score IS 1)), group_concat(trial_id), group_concat(payload_id),"
    " json_group_array(criterion) FROM verdict WHERE "
)
COLUMNS_BY_ID = f"{_COLUMNS}id BETWEEN ? AND ?"
COLUMNS_BY_TRIAL = f"{_COLUMNS}trial_id BETWEEN ? AND ?"
OTHER_SCORES = "SELECT id, score FROM verdict WHERE id BETWEEN ? AND ? AND score NOT IN (0, 1)"
TAGS = "SELECT id, failure_tag FROM verdict WHERE id BETWEEN ? AND ? AND failure_tag IS NOT NULL"
BODIES_BETWEEN = "SELECT id, body FROM payload WHERE id BETWEEN ? AND ? ORDER BY id"
BODIES_OF = "SELECT id, body FROM payload WHERE id IN "
ATTEMPTS_AT = (
    "SELECT v.trial_id, v.criterion, v.status, v.score, v.failure_tag, v.payload_id, p.body FROM verdict v"
    " JOIN payload p ON p.id = v.payload_id WHERE v.trial_id IN "
)
VERDICTS_AT = (
    "SELECT v.id, t.task, t.number, v.criterion, v.status, v.score, v.failure_tag, p.body FROM verdict v"
    " JOIN trial t ON t.id = v.trial_id JOIN payload p ON p.id = v.payload_id WHERE v.id IN "
)
TRIALS_AT = "SELECT id, task, number, ended_by, measurements, trace FROM trial WHERE id IN "

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone export --to sqlite: a file that Python's sqlite3 opens, with the tables, views and rows that
hone sql answers from, compared query by query."""
import json
import pathlib
import sqlite3
import sys
import tempfile
import unittest

import harness

HOSTILE = {"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5,
     "args": {"External id": i + 1}}
    for i, name in enumerate(["'; drop table slice; --", "a\0b", "\x1b[31m", "</script>", "ü" * 5000])]}


def rows_of_hone(trace, query):
    out = harness.hone("sql", trace, "--json", "--quiet", stdin=query).stdout
    return [tuple(row.values()) for row in json.loads(out)]


class Sqlite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tables, cls.views, _ = harness.schema()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def export(self, trace):
        out = pathlib.Path(self.folder.name) / f"{abs(hash(str(trace)))}.sqlite"
        if not out.exists():
            harness.hone("export", trace, "--to", "sqlite", "-o", out, "--quiet")
        database = sqlite3.connect(out)
        self.addCleanup(database.close)
        return database

    def compare(self, trace, database, query, ordered=True):
        theirs = database.execute(query).fetchall()
        ours = rows_of_hone(trace, query)
        if not ordered:
            ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
        self.assertEqual(ours, theirs, query)
        return len(ours)

    def check(self, trace, least):
        database = self.export(trace)
        self.assertEqual(database.execute("pragma integrity_check").fetchall(), [("ok",)])
        self.assertEqual(database.execute("pragma user_version").fetchone(), (2,))
        rows = sum(self.compare(trace, database, f"select * from {table} order by id")
                   for table in self.tables)
        self.assertGreater(rows, least)
        for table, columns in self.tables.items():
            own = [name for _, name, *_ in database.execute(f"pragma table_info({table})")]
            self.assertEqual(own, [column for column, _, _ in columns])
        for view in self.views:
            self.compare(trace, database, f"select * from {view}", ordered=False)

    def test_every_table_and_view(self):
        self.check(harness.TRACES / "two_ranks", 500)

    def test_a_real_trace(self):
        self.check(harness.TRACES / "tiny_bad_light.json.gz", 10_000)

    def test_the_questions_of_the_manual(self):
        trace = harness.TRACES / "two_ranks"
        database = self.export(trace)
        for _, query in harness.examples():
            for statement in filter(str.strip, query.split(";")):
                self.compare(trace, database, statement, ordered=False)

    def test_hostile_names(self):
        trace = pathlib.Path(self.folder.name) / "hostile.json"
        trace.write_text(json.dumps(HOSTILE), encoding="utf-8")
        self.check(trace, 5)
        names = [name for name, in self.export(trace).execute("select name from slice order by id")]
        self.assertEqual(names[0], "'; drop table slice; --")
        self.assertEqual(names[1], "a\ufffdb")
        self.assertEqual(names[4], "ü" * 5000)

    def test_links_use_an_index(self):
        database = self.export(harness.TRACES / "two_ranks")
        plan = database.execute("explain query plan select * from slice s join device_work w "
                                "on w.op_id = s.id where s.id = 3").fetchall()
        self.assertTrue(all("SCAN" not in step[-1] for step in plan), plan)


if __name__ == "__main__":
    sys.exit(unittest.main())

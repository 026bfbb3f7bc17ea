#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/user/sql.md lists every table, view and column as the program describes them, and each of its
examples runs on a trace of the project and gives rows."""
import json
import re
import sys
import unittest

import harness


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = harness.PAGE.read_text(encoding="utf-8")
        cls.tables, cls.views, cls.about = harness.schema()

    def section(self, name):
        found = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", self.page, re.M | re.S)
        self.assertIsNotNone(found, f"the page says nothing about {name}")
        return found.group(1)

    def test_every_column(self):
        self.assertGreater(len(self.tables), 20)
        for name, columns in self.tables.items():
            section = self.section(name)
            rows = re.findall(r"^\| (\w+) \| (\w+) \| (.*) \|$", section, re.M)[1:]
            own = [c for c in columns if c[0] not in ("id", "rank")]
            self.assertEqual(rows, [(c, t.lower(), w) for c, t, w in own], name)
            self.assertIn(self.about[name][1:], section)
        for name, columns in self.views.items():
            section = self.section(name)
            rows = re.findall(r"^\| (\w+) \| (.*) \|$", section, re.M)[1:]
            self.assertEqual(rows, columns, name)
            self.assertIn(self.about[name][1:], section)

    def test_nothing_else(self):
        named = re.findall(r"^### (\w+)$", self.page, re.M)
        self.assertEqual(sorted(named), sorted([*self.tables, *self.views]))

    def test_examples_give_rows(self):
        examples = harness.examples()
        self.assertGreaterEqual(len(examples), 12)
        self.assertEqual(len(examples), self.page.count("```sql"))
        for question, query in examples:
            with self.subTest(question):
                out = harness.hone("sql", harness.TRACES / "two_ranks", "--json", stdin=query).stdout
                decoder, at, answers = json.JSONDecoder(), 0, 0
                while at < len(out):
                    rows, end = decoder.raw_decode(out, at)
                    self.assertTrue(rows, f"{question}: no rows from {query}")
                    # A column of nothing but NULL answers nobody.
                    for column in rows[0]:
                        self.assertTrue(any(row[column] is not None for row in rows) or column == "op",
                                        f"{question}: {column} is always NULL")
                    at = end + 1
                    answers += 1
                self.assertEqual(answers, query.count(";"))

    def test_on_a_real_trace(self):
        for _, query in harness.examples():
            harness.hone("sql", harness.TRACES / "resnet50_bad_light.json.gz", "--csv", stdin=query)


if __name__ == "__main__":
    sys.exit(unittest.main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Report pages of real traces against docs/design/page.md, and against what hone says elsewhere."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from read_page import NONE, Page  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")
SHARED = pathlib.Path(os.environ.get("HONE_SHARED") or ROOT.parent / "shared") / "traces"
TRACES = sorted((ROOT / "tests" / "traces").glob("*.json.gz")) + sorted(SHARED.glob("*_full.json.gz"))


def hone(*words):
    done = subprocess.run([HONE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="hone-page-")
        cls.pages = {}
        for trace in TRACES:
            path = pathlib.Path(cls.folder.name) / (trace.name + ".html")
            hone("analyze", trace, "--html", path, "--quiet")
            cls.pages[trace] = Page(path)
        assert cls.pages

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        return self.pages.items()

    def test_the_report_is_the_json_answer(self):
        for trace, page in self.each():
            answer = json.loads(hone("analyze", trace, "--json", "--quiet"))
            report = {key: value for key, value in page.report.items() if key != "page"}
            self.assertEqual(report, answer)

    def test_shares_are_those_of_the_text_answer_and_sum_to_the_step(self):
        for trace, page in self.each():
            shares = page.page["headline"]["shares"]
            self.assertAlmostEqual(sum(s["share"] for s in shares), 1, places=9)
            self.assertEqual(shares, sorted(shares, key=lambda s: -s["ms"]))
            text = hone("analyze", trace, "--quiet")
            for share in shares:
                # The row's label, and the numbers at its end as they are rounded there.
                percent = "<0.1" if 0 < share["share"] < 0.0005 else f"{share['share'] * 100:.1f}"
                rows = [line.split() for line in text.splitlines() if share["text"] in line]
                self.assertIn([f"{share['ms']:,.2f}", percent], [row[-2:] for row in rows], share)

    def test_lanes_cover_the_rows_sorted_and_nested(self):
        for _, page in self.each():
            start, duration, depth = (page.columns[c] for c in ("start", "duration", "depth"))
            at = 0
            for lane in page.lanes:
                self.assertEqual(lane["first"], at)
                self.assertLess(lane["first"], lane["last"])
                at = lane["last"]
                rows = range(lane["first"], lane["last"])
                self.assertEqual(max(depth[row] for row in rows) + 1, lane["depth"])
                ends = {}
                for row in rows:
                    if row > lane["first"]:
                        self.assertGreaterEqual(start[row], start[row - 1])
                    self.assertGreaterEqual(start[row], ends.get(depth[row], 0), "rows on one level overlap")
                    ends[depth[row]] = start[row] + duration[row]
            self.assertEqual(at, len(start))
            self.assertEqual(min(start), 0)
            span = page.page["span_ns"]
            self.assertEqual(max(s + d for s, d in zip(start, duration)), span)

    def test_columns_name_what_there_is(self):
        for _, page in self.each():
            columns, strings = page.columns, page.strings
            self.assertEqual(strings[0], "")
            self.assertEqual(len(set(strings)), len(strings))
            self.assertTrue(all(name < len(strings) for name in columns["name"]))
            self.assertTrue(all(detail < len(strings) for detail in columns["detail"]))
            threads = [lane for lane in page.lanes if lane["kind"] == "thread"]
            hosts = max(lane["last"] for lane in threads)
            for row, cause in enumerate(columns["cause"]):
                kind = columns["kind"][row]
                self.assertEqual(kind >= 7, row >= hosts)
                if cause == NONE:
                    continue
                if kind >= 7:  # device work: the call that launched it
                    self.assertEqual(columns["kind"][cause], 2)
                    self.assertLessEqual(columns["start"][cause], columns["start"][row])
                else:  # a backward operator: its forward one
                    self.assertEqual((kind, columns["kind"][cause]), (0, 0))
                    self.assertLess(columns["start"][cause], columns["start"][row])
            kernels = [row for row, kind in enumerate(columns["kind"]) if kind == 7]
            linked = sum(columns["cause"][row] != NONE for row in kernels)
            self.assertGreater(linked, 0.9 * len(kernels))

    def test_gaps_are_the_idle_time(self):
        for _, page in self.each():
            causes = page.page["timeline"]["gaps"]["causes"]
            sums = {cause["id"]: 0 for cause in causes}
            last = 0
            for gap, cause in enumerate(page.columns["gap_cause"]):
                self.assertGreaterEqual(page.columns["gap_start"][gap], last)
                last = page.columns["gap_start"][gap] + page.columns["gap_duration"][gap]
                sums[causes[cause]["id"]] += page.columns["gap_duration"][gap]
            for row in page.report["idle"]:
                self.assertAlmostEqual(sums[row["cause"]] / 1e6, row["ms"], places=5)

    def test_trees_add_up(self):
        for _, page in self.each():
            for name, tree in page.page["flame"].items():
                if "absent" in tree:
                    self.assertTrue(tree["absent"])
                    continue
                below = list(tree["self"])
                for node in range(len(below) - 1, -1, -1):
                    self.assertLess(tree["parent"][node], node, name)
                    self.assertGreaterEqual(tree["self"][node], 0)
                    if tree["parent"][node] >= 0:
                        below[tree["parent"][node]] += below[node]
                self.assertEqual(below, tree["total"], name)
            ops = page.page["flame"]["op"]
            self_time = {}
            for node, string in enumerate(ops["name"]):
                name = page.strings[string]
                self_time[name] = self_time.get(name, 0) + ops["self"][node]
            for row in page.report["ops"]:
                if row["name"] in self_time and row.get("kind", "op") == "op":
                    self.assertAlmostEqual(self_time[row["name"]] / 1e6, row["host_self_ms"], places=5)

    def test_switches_are_what_whatif_says(self):
        for trace, page in self.each():
            whatif = page.page["whatif"]
            ids = [switch["id"] for switch in whatif["switches"]]
            self.assertNotIn("observer-effect", ids)
            self.assertLessEqual(len(ids), 7)
            self.assertEqual(len(whatif["steps_ms"]), 2 ** len(ids))
            alone = [whatif["steps_ms"][1 << bit][1] for bit in range(len(ids))]
            self.assertEqual(alone, sorted(alone))
            self.assertTrue(all(more["ms"][1] >= alone[-1] for more in whatif["more"]))
            bare = whatif["bare_ms"]
            self.assertEqual(whatif["steps_ms"][0], [bare["low"], bare["likely"], bare["high"]])
            every = 2 ** len(ids) - 1
            for mask in {1, every, every - 1, 0b1010101 & every, 0b110 & every} - {0}:
                asked = [ids[bit] for bit in range(len(ids)) if mask >> bit & 1]
                said = json.loads(hone("whatif", trace, "--fix", ",".join(asked), "--json", "--quiet"))
                predicted = said["predicted_step_ms"]
                self.assertEqual(whatif["steps_ms"][mask],
                                 [predicted["low"], predicted["likely"], predicted["high"]], asked)

    def test_places_lie_on_the_page(self):
        for _, page in self.each():
            places = page.page["places"]
            self.assertEqual(len(places), len(page.report["findings"]))
            self.assertTrue(any(places))
            for place in (place for some in places for place in some):
                self.assertTrue(place["text"])
                self.assertGreaterEqual(place["start_ns"], 0)
                self.assertLessEqual(place["start_ns"], place["end_ns"])
                self.assertLessEqual(place["end_ns"], page.page["span_ns"])
                if place["lane"] is not None:
                    self.assertLess(place["lane"], len(page.lanes))

    def test_no_name_becomes_markup(self):
        hostile = '</script><img src=x onerror=alert(1)><!--<script>'
        events = [{"ph": "X", "cat": category, "name": hostile, "pid": 1, "tid": 1, "ts": 10, "dur": 5,
                   "args": {"correlation": 1, "stream": 7, "device": 0}}
                  for category in ("cpu_op", "cuda_runtime", "kernel", "user_annotation", "python_function")]
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": hostile}})
        folder = pathlib.Path(self.folder.name) / "<b>"
        folder.mkdir()
        trace = folder / "</title><i>.json"
        trace.parent.mkdir(exist_ok=True, parents=True)
        trace.write_text(json.dumps({"traceEvents": events, "traceName": hostile}))
        out = folder / "page.html"
        hone("analyze", trace, "--html", out, "--quiet")
        page = Page(out)
        self.assertIn(hostile, page.strings)
        self.assertNotIn("<", page.report_text)
        template = (ROOT / "web" / "dist" / "page.html").read_text(encoding="utf-8")
        before, after = template.split("<!--hone:data-->")
        self.assertTrue(page.html.startswith(before) and page.html.endswith(after))
        self.assertEqual(page.html[len(before) : len(page.html) - len(after)].count("<"), 4)


if __name__ == "__main__":
    unittest.main()

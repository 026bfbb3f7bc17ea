#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hone bench` on plain programs: turns, verdicts, files, failures, an end before the end."""
import json
import os
import signal
import subprocess
import time
import xml.dom.minidom

import harness
from harness import LOOP


class Verdict(harness.Case):
    def test_much_more_work_is_slower_and_the_other_way_round(self):
        answer = self.json("--pairs", 5, "--", *LOOP, 20000, "--", *LOOP, 6000000)
        self.assertEqual(answer["verdict"], "slower")
        self.assertLess(answer["interval"][1], 1)
        self.assertEqual(answer["pairs"], 5)
        self.assertEqual(len(answer["arms"][0]["runs"]), 5)
        turns = self.json("--pairs", 5, "--", *LOOP, 6000000, "--", *LOOP, 20000)
        self.assertEqual(turns["verdict"], "faster")

    def test_runs_take_turns(self):
        answer = self.json("--pairs", 4, "--", "true", "--", "true", "--", "true")
        slots = [[run["slot"] for run in arm["runs"]] for arm in answer["arms"]]
        self.assertEqual(slots, [[0, 2, 0, 2], [1, 1, 1, 1], [2, 0, 2, 0]])
        self.assertEqual(len(answer["comparisons"]), 2)

    def test_the_first_line_is_the_verdict(self):
        out = self.bench("--pairs", 5, "--", *LOOP, 20000, "--", *LOOP, 6000000).stdout
        self.assertRegex(out.splitlines()[0], r"^B is slower: 0\.\d+x \(0\.\d+–0\.\d+\), 5 pairs$")

    def test_a_against_itself_cannot_be_told(self):
        # One real comparison may be wrong now and then: of two, not both the same way.
        verdicts = [self.json("--aa", "--pairs", 5, "--", *LOOP, 200000)["verdict"] for _ in range(2)]
        self.assertNotEqual(sorted(set(verdicts)), ["faster"])
        self.assertNotEqual(sorted(set(verdicts)), ["slower"])

    def test_a_number_from_the_output(self):
        words = ("--pairs", 3, "--metric", r"regex:rate ([0-9.]+)")
        answer = self.json(*words, "--", *LOOP, 1000, "--", *LOOP, 2000)
        self.assertAlmostEqual(answer["ratio"], 2, places=6)
        answer = self.json(*words, "--higher-is-better", "--", *LOOP, 1000, "--", *LOOP, 2000)
        self.assertAlmostEqual(answer["ratio"], 0.5, places=6)
        said = self.bench("--pairs", 3, "--metric", "regex:speed (x)", "--", *LOOP, 10, "--", *LOOP, 10,
                          code=1).stderr
        self.assertIn("no line of the output matches", said)


class Files(harness.Case):
    def test_saved_results_are_compared_and_gate(self):
        self.bench("--pairs", 4, "--save", "small.json", "--", *LOOP, 20000)
        self.bench("--pairs", 4, "--save", "large.json", "--", *LOOP, 6000000)
        self.assertEqual(self.json("small.json", "large.json")["verdict"], "slower")
        self.assertEqual(self.json("large.json", "small.json")["verdict"], "faster")
        said = self.bench("--against", "small.json", "--", *LOOP, 6000000, code=4).stdout
        self.assertIn("B is slower", said)
        self.assertIn("not in turns", said)
        self.bench("--against", "large.json", "--", *LOOP, 20000)

    def test_other_metric_of_the_same_runs(self):
        self.bench("--pairs", 3, "--save", "two.json", "--", *LOOP, 1000, "--", *LOOP, 1000)
        answer = self.json("--metric", "memory", "two.json")
        self.assertEqual(answer["metric"]["name"], "memory")
        self.assertGreater(answer["arms"][0]["runs"][0]["value"], 1e6)

    def test_pictures_and_markdown(self):
        out = self.bench("--pairs", 3, "--svg", "a.svg", "--html", "a.html", "--markdown", "--", "true", "--",
                         "sh", "-c", "exit 0 # <&>|").stdout
        self.assertIn("| wall time |", out)
        self.assertIn("`sh -c exit 0 # <&>|`", out)
        xml.dom.minidom.parse(str(self.folder / "a.svg"))
        page = (self.folder / "a.html").read_text()
        self.assertIn("&lt;&amp;&gt;", page)
        self.assertIn("Content-Security-Policy", page)


class Failures(harness.Case):
    def test_a_command_that_fails_is_named_with_its_last_lines(self):
        said = self.bench("--pairs", 3, "--", "true", "--", "sh", "-c", "echo no disk left; exit 7", code=1).stderr
        self.assertEqual(said.count("\n"), 1)
        for word in ("B (sh", "exit code 7", "no disk left"):
            self.assertIn(word, said)

    def test_a_command_that_hangs_is_stopped_with_all_it_started(self):
        began = time.monotonic()
        said = self.bench("--timeout", "0.5", "--", "true", "--", "sh", "-c", "sleep 300 & sleep 300", code=1).stderr
        self.assertIn("ran longer than 500 ms", said)
        self.assertLess(time.monotonic() - began, 60)

    def test_what_cannot_be_is_said(self):
        for words, text in ((("--",), "nothing to run"),
                            (("--", "true"), "one command alone"),
                            (("--", "true", "--"), "command B is empty"),
                            (("--metric", "wal", "--", "true", "--", "true"), "did you mean wall?"),
                            (("--allow", "precison", "--", "true", "--", "true"), "did you mean precision?")):
            self.assertIn(text, self.bench(*words, code=2).stderr)
        self.assertIn("no such file", self.bench("a.json", "b.json", code=3).stderr)
        self.assertIn("no such program", self.bench("--", "true", "--", "no-such-program", code=1).stderr)
        said = self.bench("--metric", "step", "--pairs", 2, "--", "true", "--", "true", code=1).stderr
        self.assertIn("--metric wall", said)
        said = self.bench("--metric", "step", "--pairs", 2, "--", *LOOP, 10, "--", *LOOP, 10, code=1).stderr
        self.assertIn("hone.step()", said)

    def test_where_results_cannot_go_is_said_before_anything_is_run(self):
        for option in ("--svg", "--html", "--save", "-o"):
            done = self.bench(option, "nowhere/x", "--", "touch", "ran", "--", "touch", "ran", code=1)
            self.assertEqual((done.stdout, done.stderr), (
                "", "hone: nowhere/x: cannot be written: there is no folder nowhere; "
                "make it first, or name another place\n"))
        done = self.bench("--svg", self.folder, "--", "touch", "ran", "--", "touch", "ran", code=1)
        self.assertIn("it is a folder; name a file", done.stderr)
        self.assertFalse((self.folder / "ran").exists())
        self.bench("--svg", "x.svg", "--pairs", "1", "--", "touch", "ran", "--", "touch", "ran")
        self.assertTrue((self.folder / "ran").exists() and (self.folder / "x.svg").exists())

    def test_ctrl_c_gives_what_was_measured(self):
        marks = self.folder / "marks"
        command = ["sh", "-c", f"echo >> {marks}; [ $(wc -l < {marks}) -lt 8 ] || sleep 300"]
        process = subprocess.Popen([harness.HONE, "bench", "--json", "--", *command, "--", *command],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, TMPDIR=str(self.folder)))
        while not marks.exists() or marks.read_text().count("\n") < 8:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        answer = json.loads(out)
        self.assertEqual(answer["pairs"], 3)
        self.assertIn("Ctrl-C", answer["ended"])
        self.assertEqual(process.returncode, 0)

    def test_a_budget_ends_it(self):
        answer = self.json("--budget", "1s", "--", "sleep", "0.3", "--", "sleep", "0.3")
        self.assertLess(answer["pairs"], 5)
        self.assertIn("budget", answer["ended"])


if __name__ == "__main__":
    harness.main()

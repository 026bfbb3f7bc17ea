#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks that the recorder reads from Python's memory, against what Python says; on every CPython here."""
import collections
import subprocess
import unittest

import recorded
from recorded import BUILD, Run, program

ODD = BUILD / "test-tools/libodd_python.so"


class Frames(unittest.TestCase):
    def test_versions(self):
        print("tried:", *(".".join(map(str, version)) for version in recorded.pythons()))

    def test_stacks_are_what_python_says(self):
        for version, python in recorded.pythons().items():
            with self.subTest(version):
                run = Run(program("stacks.py"), python=python)
                self.assertRegex(run.out, r"checked \d{4}")
                self.assertEqual([row for row in run.rows("losses") if row[1] != "python samples"], [])

    def test_without_sampling_and_without_python(self):
        run = Run("-c", "import time; time.sleep(0.1)", env={"HONE_STACK_HZ": "0"})
        self.assertEqual(run.rows("samples"), [])
        run = Run("-c", "import time; time.sleep(0.1)", env={"HONE_COLLECT": "ops"})
        self.assertEqual(run.rows("samples", "code", "frames"), [])


def in_a_library(python):
    """Whether this Python is in a libpython, so that a preloaded library comes before it."""
    code = "print('/libpython3.' in open('/proc/self/maps').read())"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip() == "True"


@unittest.skipUnless(ODD.exists(), "no odd_python (target hone_test_tools)")
class Unknown(unittest.TestCase):
    """An interpreter that is not what it seems is left alone, and the file says so."""

    def test_left_alone(self):
        pythons = {v: p for v, p in recorded.pythons().items() if in_a_library(p)}
        if not pythons:
            self.skipTest("no Python here is in a libpython")
        code = "import time\nprint('ran')\ntime.sleep(0.25)\n"
        for version, python in pythons.items():
            for odd in ("code", "line", "late"):
                with self.subTest(version=version, odd=odd):
                    run = Run("-c", code, python=python, env={
                        "LD_PRELOAD": "%s %s" % (ODD, recorded.LIBRARY), "HONE_ODD": odd})
                    self.assertEqual((run.out, run.err), ("ran\n", ""))
                    (said,) = [row[3] for row in run.rows("losses") if row[1] == "python"]
                    self.assertIn("no Python lines in this process", said)
                    self.assertEqual(run.rows("samples", "frames"), [])
            # The near miss: told the truth through the same library, it is known.
            run = Run("-c", code, python=python, env={
                "LD_PRELOAD": "%s %s" % (ODD, recorded.LIBRARY)})
            self.assertEqual([row for row in run.rows("losses") if row[1] == "python"], [])
            self.assertGreater(len(run.rows("samples")), 0)


class Samples(unittest.TestCase):
    def stacks(self, run):
        """{(functions, outermost first): samples}, and that every number is a row that came before."""
        code = {row[1]: row for row in run.rows("code")}
        frames = {}
        for _, number, caller, function, _line in run.rows("frames"):
            self.assertIn(function, code)
            self.assertTrue(caller == "0" or int(caller) < int(number))
            frames[number] = frames.get(caller, ()) + (code[function][3].split(".")[-1],)
        return collections.Counter(frames[row[3]] for row in run.rows("samples"))

    def test_under_churn(self):
        # Functions that the program's threads may stand in, by who calls them.
        callers = {"leaf": {"calls", "numbers", "recursion", "made_here", "<listcomp>", "run"},
                   "calls": {"work"}, "generators": {"work"}, "numbers": {"generators", "numbers"},
                   "recursion": {"work", "recursion"}, "made": {"work"}, "waits": {"work"},
                   "<listcomp>": {"made_here"}, "made_here": {"<module>"}, "work": {"run"}}
        for version, python in recorded.pythons().items():
            with self.subTest(version):
                run = Run(program("churn.py"), "4", python=python)
                stacks = self.stacks(run)
                ours = {stack: count for stack, count in stacks.items() if "work" in stack}
                total = sum(ours.values())
                self.assertGreater(total, 400)  # 8 threads, 4 s, 100 Hz: 3,200 on a free machine
                wrong = 0
                for stack, count in ours.items():
                    pairs = zip(stack, stack[1:])
                    if any(callee in callers and caller not in callers[callee] for caller, callee in pairs):
                        wrong += count
                lost = sum(int(row[2]) for row in run.rows("losses") if row[1] == "python samples")
                print("%s: %d samples, %d impossible, %d lost" % (version, total, wrong, lost))
                # Threads do not stand still to be looked at: hardly ever is not never.
                self.assertLessEqual(wrong, total / 200)
                self.assertLessEqual(lost, total / 5)
                self.assertEqual([row for row in run.rows("losses") if row[1] == "python"], [])

    def test_running_and_waiting(self):
        run = Run("-c", "import time\n"
                  "def busy():\n  end = time.monotonic() + 1\n  while time.monotonic() < end: pass\n"
                  "def idle():\n  time.sleep(1)\n"
                  "busy(); idle()")
        code = {row[1]: row[3] for row in run.rows("code")}
        function = {row[1]: code[row[3]] for row in run.rows("frames")}
        states = collections.Counter((function[row[3]], row[4]) for row in run.rows("samples"))
        for name, state in (("busy", "1"), ("idle", "2")):
            seen = sum(count for (where, _), count in states.items() if where == name)
            self.assertGreater(seen, 20)
            self.assertGreater(states[name, state], 0.7 * seen, states)


if __name__ == "__main__":
    recorded.main()

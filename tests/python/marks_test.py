#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone.step, hone.region and hone.recording, with a recorder and without."""
import unittest

import recorded
from recorded import FAKE, Run

MARKS = """
import hone
@hone.region("work")
def work(a, *, b):
    "what it does"
    return a + b
assert work(1, b=2) == 3 and work.__name__ == "work" and work.__doc__ == "what it does"
with hone.region("outer"):
    with hone.region("inn\\u00e9r\\0x"):
        hone.step()
try:
    with hone.region("fails"):
        raise KeyError("k")
except KeyError as error:
    assert error.args == ("k",)
for function in ("async def f(): pass", "def f(): yield"):
    scope = {}
    exec(function, scope)
    try:
        hone.region("no")(scope["f"])
        raise SystemExit("decorated " + function)
    except TypeError as error:
        assert "f by with hone.region" in str(error), error
print(hone.recording())
"""


class Marks(unittest.TestCase):
    def test_do_nothing_without_a_recorder(self):
        package = {"PYTHONPATH": str(recorded.ROOT / "python")}
        run = Run("-c", MARKS, recorder=None, env=package)
        self.assertEqual(run.out, "False\n")
        # Named, but not there: an old environment, another machine.
        run = Run("-c", MARKS, recorder=None,
                  env=dict(package, HONE_LIBRARY="/nowhere/lib.so", HONE_RUN_DIR="/nowhere"))
        self.assertEqual((run.out, run.err), ("False\n", ""))

    def test_reach_the_recorder(self):
        for python in recorded.pythons().values():
            with self.subTest(python):
                run = Run("-c", MARKS, recorder=FAKE, python=python)
                self.assertEqual(run.out, "True\n")
                marks = [call[1:] for call in run.calls("step", "region_begin", "region_end")]
                self.assertEqual(marks, [
                    ("region_begin", "work 3"), ("region_end", ""),
                    ("region_begin", "outer 3"), ("region_begin", "inn\u00e9rx 3"), ("step", ""),
                    ("region_end", ""), ("region_end", ""),
                    ("region_begin", "fails 3"), ("region_end", "")])

    def test_programs_own_module_of_that_name_comes_first(self):
        run = Run("-c", "open('hone.py', 'w').write('mine = 1'); import sys; sys.path.insert(0, '.')\n"
                  "import hone; print(hone.mine)", recorder=FAKE)
        self.assertEqual(run.out, "1\n")


if __name__ == "__main__":
    recorded.main()

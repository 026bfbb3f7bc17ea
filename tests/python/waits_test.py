#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line of Python that a call of CUDA waits from, where no operator is around it."""
import json
import re
import subprocess
import unittest

import recorded
from recorded import BUILD, Run, program

FAKE_CUPTI = BUILD / "test-tools/libfake_cupti.so"


@unittest.skipUnless(FAKE_CUPTI.exists(), "no fake CUPTI (target hone_test_tools)")
class Waits(unittest.TestCase):
    def lines_of(self, python):
        """{correlation: line} as recorded and as the program says, and how many launches have none."""
        run = Run(program("waits.py"), python=python, env={"HONE_CUPTI": str(FAKE_CUPTI)})
        frames = {row[1]: row for row in run.rows("frames")}
        code = {row[1]: row for row in run.rows("code")}
        found, launches = {}, 0
        for row in run.rows("api"):
            correlation, frame = row[7], row[9]
            if frame == "0":
                launches += correlation == "6"
                continue
            _, _, _, owner, line = frames[frame][:5]
            self.assertTrue(code[owner][2].endswith("waits.py"), code[owner])
            found[correlation] = line
        return found, dict(line.split() for line in run.out.splitlines()), launches

    def test_each_wait_has_the_line_it_came_from(self):
        for version, python in recorded.pythons().items():
            with self.subTest(version=version):
                found, lines, launches = self.lines_of(python)
                self.assertEqual(found, lines)
                self.assertEqual(launches, 1)

    @unittest.skipUnless((BUILD / "hone").exists(), "no hone (target hone)")
    def test_the_report_names_the_lines(self):
        run = Run(program("waits.py"), env={"HONE_CUPTI": str(FAKE_CUPTI)})
        report = subprocess.run([BUILD / "hone", "analyze", run.folder, "--json"], capture_output=True,
                                check=True)
        where = {row["where"] for row in json.loads(report.stdout)["syncs"]}
        lines = {line.split()[1] for line in run.out.splitlines()}
        self.assertEqual({re.search(r"waits\.py\((\d+)\)", place)[1] for place in where}, lines)

    def test_without_python_lines_there_are_none(self):
        run = Run(program("waits.py"), env={"HONE_CUPTI": str(FAKE_CUPTI), "HONE_COLLECT": "cuda"})
        self.assertEqual({row[9] for row in run.rows("api")}, {"0"})
        self.assertEqual(len(run.rows("api")), 6 + 300)


if __name__ == "__main__":
    unittest.main(verbosity=2)

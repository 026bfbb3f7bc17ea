#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run_cases.py can fail, skip and regold, tried on a stand-in for hone."""
import gzip
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parent / "run_cases.py"
INPUT = "name: t\n\nfile a.txt <<END\none\n\ntwo\nEND\n\n"


class RunCases(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.hone = self.folder / "hone"
        self.hone.write_text("#!/bin/bash\ncat \"$1\" || { echo \"hone: $1: bad\" >&2; exit 3; }\n")
        self.hone.chmod(0o755)
        self.case = self.folder / "t.case"

    def run_case(self, text, *words):
        self.case.write_text(text)
        done = subprocess.run([sys.executable, RUNNER, "--hone", self.hone, *words, self.case],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_passes(self):
        code, out = self.run_case(INPUT + "$ hone a.txt\n----\none\n\ntwo\n")
        self.assertEqual((code, out), (0, "1 passed, 0 failed, 0 skipped\n"))

    def test_what_a_missing_program_prints_is_not_written(self):
        text = INPUT + "$ no_such_program a.txt\n----\none\n"
        code, out = self.run_case(text, "--regold")
        self.assertEqual(code, 1)
        self.assertIn("no_such_program: command not found", out)
        self.assertEqual(self.case.read_text(), text)

    def test_wrong_text_fails_with_a_diff(self):
        code, out = self.run_case(INPUT + "$ hone a.txt\n----\none\ntwo\n")
        self.assertEqual(code, 1)
        self.assertIn("+\n", out)
        self.assertIn("0 passed, 1 failed, 0 skipped", out)

    def test_wrong_exit_fails(self):
        code, out = self.run_case(INPUT + "$ hone a.txt; exit 2\n----\none\n\ntwo\n")
        self.assertEqual(code, 1)
        self.assertIn("exit 2, expected 0", out)

    def test_second_command_counts(self):
        code, _ = self.run_case(INPUT + "$ hone a.txt\n----\none\n\ntwo\n\n$ echo x\n----\ny\n")
        self.assertEqual(code, 1)

    def test_skips_without_shared_data(self):
        code, out = self.run_case("name: t\n\npath a shared/no/such/file\n\n$ hone a\n----\n")
        self.assertEqual(code, 77)
        self.assertIn("0 passed, 0 failed, 1 skipped", out)

    def test_broken_case_fails(self):
        code, out = self.run_case("name: t\n\nfile a <<END\n\n$ hone a\n----\n")
        self.assertEqual(code, 1)
        self.assertIn("never ends", out)

    def test_regold_round_trip(self):
        code, _ = self.run_case(INPUT + "$ hone a.txt; exit 4\n----\nwrong\n\n$ echo b\n----\n", "--regold")
        self.assertEqual(code, 0)
        self.assertEqual(self.case.read_text(),
                         INPUT + "$ hone a.txt; exit 4\n----\none\n\ntwo\nexit 4\n\n$ echo b\n----\nb\n")
        self.assertEqual(self.run_case(self.case.read_text())[0], 0)

    def test_bytes_on_disk(self):
        head = "name: t\n\nfile e escaped chomp <<END\na\\xff\\n\nEND\ngzip z cut=-4 flip=0 <<END\nhi\nEND\n\n"
        packed = bytearray(gzip.compress(b"hi\n", mtime=0)[:-4])
        packed[0] ^= 0xFF
        code, out = self.run_case(head + "$ od -An -tx1 e\n----\n 61 ff 0a\n\n$ od -An -v -tx1 z | tr -d ' \\n'\n"
                                  f"----\n{packed.hex()}\n")
        self.assertEqual(code, 0, out)


if __name__ == "__main__":
    unittest.main()

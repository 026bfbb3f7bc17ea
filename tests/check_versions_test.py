#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_versions can fail: each place that falls behind is named, and so is one without a version."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("CMakeLists.txt", "python/hone/__init__.py", "web/package.json", "web/package-lock.json")


class CheckVersions(unittest.TestCase):
    def check(self, file="", old="", new=""):
        with tempfile.TemporaryDirectory() as folder:
            for name in FILES:
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, path)
                if name == file:
                    text = path.read_text()
                    self.assertIn(old, text)
                    path.write_text(text.replace(old, new, 1))
            done = subprocess.run([ROOT / "tools/check_versions", folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1 if file else 0, done.stdout + done.stderr)
        return done.stdout.splitlines()[:-1]

    def test_as_it_is(self):
        self.assertEqual(self.check(), [])

    def test_one_that_fell_behind(self):
        for file in FILES[1:]:
            version = '__version__ = "' if file.endswith(".py") else '"version": "'
            (line,) = self.check(file, version, version + "9")
            self.assertRegex(line, f"^{file}: version 9.* in CMakeLists.txt; write the same$")

    def test_the_one_that_counts(self):
        self.assertEqual(len(self.check("CMakeLists.txt", "hone VERSION ", "hone VERSION 9")), 4)
        (line,) = self.check("CMakeLists.txt", "hone VERSION", "hone")
        self.assertIn("no version found", line)

    def test_one_that_is_gone(self):
        (line,) = self.check("python/hone/__init__.py", "__version__", "version")
        self.assertIn("version None", line)


if __name__ == "__main__":
    unittest.main()

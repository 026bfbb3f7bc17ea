# SPDX-License-Identifier: Apache-2.0
"""What the tests of `hone bench` share: real processes, and real PyTorch where a test says so.

Nothing here depends on how fast the machine is: verdicts are asked only of differences that no load can
turn round, everything else is about what was seen and said. HONE names the program, HONE_TORCH_PYTHON a
Python that has torch.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")
LOOP = [sys.executable, str(HERE / "programs" / "loop.py")]
SKIPPED = 77


def torch_python():
    python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
    if not os.access(python, os.X_OK):
        raise unittest.SkipTest(f"no PyTorch: {python} is not there (tools/install_torch)")
    return python


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_bench_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def bench(self, *words, code=0, **more):
        """Runs `hone bench`; what it printed, both streams."""
        environment = dict(os.environ, OMP_NUM_THREADS="1", TMPDIR=str(self.folder), LC_ALL="C.UTF-8")
        done = subprocess.run([HONE, "bench", *map(str, words)], capture_output=True, text=True,
                              env=environment, cwd=self.folder, timeout=600, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json(self, *words, code=0):
        return json.loads(self.bench("--json", *words, code=code).stdout)


def main():
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)

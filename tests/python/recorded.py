# SPDX-License-Identifier: Apache-2.0
"""What the tests of python/hone share: Pythons, runs with a true or a fake recorder, what they left."""
import functools
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import weakref

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("HONE_BUILD", ROOT / "build"))
LIBRARY = BUILD / "lib/hone/libhone_collect.so"
FAKE = BUILD / "test-tools/libfake_recorder.so"
ROWS = BUILD / "test-tools/hone_rows"
INJECT = ROOT / "python/inject"
PROGRAMS = HERE / "programs"


def torch_python():
    python = os.environ.get("HONE_TORCH_PYTHON") or ROOT / ".cache/venv/bin/python"
    return str(python) if pathlib.Path(python).exists() else None


def needs_torch(test):
    return unittest.skipUnless(torch_python(), "no Python with PyTorch (tools/install_torch)")(test)


@functools.lru_cache(None)
def pythons():
    """Every CPython from 3.9 on this machine, one a version: {(3, 11, 7): path}."""
    candidates = [sys.executable, torch_python(), "/usr/bin/python3"]
    candidates += [shutil.which("python3.%d" % minor) for minor in range(9, 16)]
    candidates += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python"))
    found = {}
    for path in filter(None, candidates):
        answer = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:3], sys.implementation.name, sys.abiflags)"],
            capture_output=True, text=True)
        words = answer.stdout.split()
        if answer.returncode == 0 and words[3] == "cpython" and "t" not in "".join(words[4:]):
            version = tuple(map(int, words[:3]))
            if version >= (3, 9):
                found.setdefault(version, path)
    return dict(sorted(found.items()))


class Run:
    """One program, run to its end. recorder: LIBRARY, FAKE, or None for none at all."""

    def __init__(self, *command, recorder=LIBRARY, python=None, env=(), check=True, timeout=240):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-test-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.log = self.folder / "calls"
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("HONE_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
        if recorder is not None:
            environment.update(HONE_RUN_DIR=str(self.folder), HONE_LIBRARY=str(recorder),
                               HONE_FAKE_LOG=str(self.log), PYTHONPATH=str(INJECT),
                               LD_PRELOAD=str(recorder))
        environment.update(env)
        command = [python or sys.executable] + [str(word) for word in command]
        done = subprocess.run(command, capture_output=True, text=True, env=environment,
                              timeout=timeout, cwd=self.folder)
        self.out, self.err, self.status = done.stdout, done.stderr, done.returncode
        if check and self.status != 0:
            raise AssertionError("%s ended with %d\n%s%s" % (command, self.status, self.out, self.err))

    def calls(self, *functions):
        """What the fake was told: [(pid, function, argument, argument)], only these functions."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        rows = []
        for line in lines:
            pid, _, function, rest = (line.split(" ", 3) + [""])[:4]
            if not functions or function in functions:
                rows.append((int(pid), function, rest.strip()))
        return rows

    def files(self):
        return sorted(self.folder.glob("process-*.hone"))

    def rows(self, *tables):
        """Rows of all files: [[table, column, …]]."""
        found = []
        for path in self.files():
            text = subprocess.run([ROWS, path], capture_output=True, check=True).stdout.decode("utf-8", "replace")
            found += [line.split("\t") for line in text.splitlines()]
        return [row for row in found if not tables or row[0] in tables]


def program(name):
    return PROGRAMS / name


def main():
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)

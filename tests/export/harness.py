# SPDX-License-Identifier: Apache-2.0
"""What the tests of `hone export` share: the program, and traces of every kind to export.

HONE names the program (build/hone unless set).
"""
import contextlib
import decimal
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")
SKIPPED = 77

sys.path.insert(0, str(ROOT / "tests"))
import run_cases  # noqa: E402


def hone(*words, check=True):
    """Bytes on stdout."""
    done = subprocess.run([HONE, *map(str, words)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"hone {' '.join(map(str, words))}: exit {done.returncode}: "
                             f"{done.stderr.decode(errors='replace')}")
    return done.stdout if check else done


def analyze(path):
    done = hone("analyze", path, "--json", "--stable", check=False)
    return json.loads(done.stdout) if done.stdout else None


def nanos(micros):
    """The text of microseconds with decimals, exactly."""
    return int(decimal.Decimal(micros) * 1000)


def read_chrome(data):
    """The document; times stay text, so that no digit is lost."""
    return json.loads(data, parse_float=str)


@contextlib.contextmanager
def inputs():
    """Every trace of the golden cases that hone can read in full, and the real ones: (label, path)."""
    with tempfile.TemporaryDirectory(prefix="hone-export-") as temporary:
        found = []
        for case_path in sorted((ROOT / "tests" / "cases").rglob("*.case")):
            label = str(case_path.relative_to(ROOT / "tests" / "cases"))[:-len(".case")]
            folder = pathlib.Path(temporary) / label
            folder.mkdir(parents=True)
            case = run_cases.Case(case_path)
            for kind, name, words, text in case.inputs:
                if kind in ("path", "folder"):
                    continue
                run_cases.make_input(folder, kind, name, list(words), text)
                found.append((f"{label}/{name}", folder / name))
        found += [(f"traces/{p.name}", p) for p in sorted((ROOT / "tests/traces").glob("*.json.gz"))]
        yield [(label, path) for label, path in found
               if hone("analyze", path, "--json", check=False).returncode == 0]


class Checks:
    """Counts what holds, prints what does not."""

    def __init__(self):
        self.held, self.failed = 0, 0

    def that(self, condition, what):
        if condition:
            self.held += 1
        else:
            self.failed += 1
            if self.failed <= 30:
                print(f"FAIL {what}")

    def equal(self, left, right, what):
        self.that(left == right, f"{what}: {left!r} != {right!r}"[:600])

    def done(self):
        print(f"{self.held} held, {self.failed} failed")
        if self.held == 0:
            print("nothing was checked")
        return 1 if self.failed or not self.held else 0

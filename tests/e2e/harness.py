# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests of `hone run` share: real programs, real processes, real PyTorch.

A test file ends with harness.main(). It exits with 77 (skipped) when every test of it was skipped.
HONE names the program (build/hone unless set), HONE_TORCH_PYTHON a Python that has torch
(.cache/venv unless set).
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")
SKIPPED = 77

# src/wire/table.h
TABLES = {1: "info", 2: "clock", 3: "strings", 4: "threads", 5: "host", 14: "memory", 17: "samples",
          19: "counters", 20: "marks", 21: "losses"}


def torch_python():
    python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
    if not os.access(python, os.X_OK):
        raise unittest.SkipTest(f"no PyTorch: {python} is not there (tools/install_torch)")
    return python


def read_chunks(path):
    """[(table, rows)] of a .hone file as src/wire/file_writer.h lays it out, and the bytes of a torn
    end. Written from the description, so that it does not share the reader's mistakes."""
    data = pathlib.Path(path).read_bytes()
    if not data:
        return [], 0  # killed between the file's creation and its first byte
    if data[:8] != b"HONE\r\n\x1a\n":
        raise AssertionError(f"{path}: does not begin like a .hone file: {data[:8]!r}")
    at, chunks = 16, []
    while at < len(data):
        if len(data) - at < 24:
            return chunks, len(data) - at
        magic, table, _flags, rows, _raw, stored, _sum = struct.unpack_from("<IHHIIII", data, at)
        if magic != 0x4B484368:
            raise AssertionError(f"{path}: no chunk at byte {at}")
        if at + 24 + stored > len(data):
            return chunks, len(data) - at
        chunks.append((TABLES.get(table, table), rows))
        at += 24 + stored
    return chunks, 0


def rows_of(path, table):
    return sum(rows for name, rows in read_chunks(path)[0] if name == table)


def operators(path):
    """(start, end, name) of a chrome trace's operators, in nanoseconds of the wall clock, in order."""
    trace = json.loads(pathlib.Path(path).read_text())
    base = int(trace["baseTimeNanoseconds"])
    return sorted((base + round(e["ts"] * 1e3), base + round((e["ts"] + e["dur"]) * 1e3), e["name"])
                  for e in trace["traceEvents"] if e.get("cat") == "cpu_op" and e["ph"] == "X")


def operators_of(out):
    """The same of what hone run recorded."""
    path = pathlib.Path(out) / "operators.json"
    subprocess.run([HONE, "export", str(out), "--to", "chrome", "-o", str(path)], capture_output=True, check=True)
    return operators(path)


class Case(unittest.TestCase):
    """A test in a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_e2e_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.runs = 0

    def script(self, text, name="program.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)
        return str(path)

    def command(self, command, options=(), out=None):
        """The command line of a run, and the folder it records into."""
        self.runs += 1
        out = out or self.folder / f"run{self.runs}"
        return [HONE, "run", "--out", str(out), *options, "--", *map(str, command)], out

    def run_hone(self, command, options=(), timeout=120, **more):
        line, out = self.command(command, options)
        more.setdefault("cwd", self.folder)
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              **more)
        done.out = out
        return done

    def start_hone(self, command, options=(), **more):
        line, out = self.command(command, options)
        more.setdefault("cwd", self.folder)
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(self._end, process)
        process.out = out
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            left = children(process.pid)  # the program would keep the pipes open
            process.kill()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        process.communicate()

    def processes(self, out):
        return sorted(pathlib.Path(out).glob("process-*.hone"))

    def opens(self, out):
        """Every file of a run can be read up to its end, a torn one at most."""
        files = sorted(pathlib.Path(out).glob("*.hone"))
        for path in files:
            read_chunks(path)
        return files

    def answer(self, done):
        """The report of a run that recorded something."""
        report = pathlib.Path(done.out) / "report.json"
        self.assertTrue(report.exists(), f"no report.json; stderr: {done.stderr.decode()}")
        self.assertTrue((pathlib.Path(done.out) / "report.txt").exists())
        page = pathlib.Path(done.out) / "report.html"
        self.assertIn('<script id="hone-report"', page.read_text(encoding="utf-8"))
        return json.loads(report.read_text())


SENTINEL = "signal-sentinel"


def name_of(pid):
    """As ps says it; None: gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return None


def children(pid):
    """The oldest first: of hone that is the program."""
    try:
        words = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(word) for word in words]


def sentinel_of(process):
    """The process that says which signals were sent to all; hone starts it after the program."""
    def look():
        return [pid for pid in children(process.pid) if name_of(pid) == SENTINEL]
    (sentinel,) = wait_for(look)
    return sentinel


def listen(process):
    """A function that says what hone has written to stderr so far; communicate() returns what came since."""
    os.set_blocking(process.stderr.fileno(), False)
    said = bytearray()

    def so_far():
        said.extend(process.stderr.read() or b"")
        return bytes(said)
    return so_far


def wait_for(what, seconds=30):
    """Until what() is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"nothing happened within {seconds} s")


# A program without torch that leaves marks through the C ABI: cheap enough to be killed 200 times.
MARKS = '''
    import ctypes, os, sys, time
    lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
    assert lib.hone_start() == 0, "the recorder did not start"
    print("ready", flush=True)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10**9
    for i in range(count):
        lib.hone_region_begin(b"forward", 3)
        time.sleep(0.001)
        lib.hone_region_end()
        lib.hone_step()
    print("done", flush=True)
'''


def main():
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.failures or result.errors:
        sys.exit(1)
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(0)

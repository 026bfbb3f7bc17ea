#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Windows that open and close all the time, in several processes at once on a real GPU: none may fail or hang.

    windows_test.py [--hone build/hone] [--seconds 30] [--at-once 8] [--limit 60] [--tune KEY=VALUE,…] [SCRIPT ARGS…]

Run by hand, on a machine with a GPU (exits with 77 without one). --tune is HONE_CUPTI_TUNE. Of a process that hangs
the threads and where they wait are told; then it is ended.
"""
import argparse
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77


def descendants(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        for child in pathlib.Path(path).read_text().split():
            found += [int(child), *descendants(child)]
    return found


def told(pid):
    """The threads of a process and what each waits for."""
    lines = []
    for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
        try:
            name, wait = (pathlib.Path(task, part).read_text().strip() for part in ("comm", "wchan"))
            state = pathlib.Path(task, "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has just ended
        lines.append(f"  {os.path.basename(task)} {name} {state} {wait}")
    return "\n".join(lines)


class Process:
    def __init__(self, options, number, folder):
        self.began = time.monotonic()
        self.log = folder / f"{number}.log"
        self.folder = folder / str(number)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [options.hone, "run", "--steps", "10", "--every", "14", "--quiet", "--no-analyze", "--out",
                 str(self.folder), "--", sys.executable, *options.script], stdout=log, stderr=log,
                env=dict(os.environ, HONE_CUPTI_TUNE=options.tune))

    def trouble(self, limit):
        """What went wrong; empty: it ended well; None: it runs."""
        code = self.process.poll()
        if code is None and time.monotonic() - self.began < limit:
            return None
        said = self.log.read_text(errors="replace")[-2000:]
        if code is None:
            children = descendants(self.process.pid)
            said = "\n".join(f" process {child}\n{told(child)}" for child in children)
            for child in [self.process.pid, *children]:
                os.kill(child, 9)
            self.process.wait()
            return f"hangs after {limit:.0f} s:\n{said}"
        shutil.rmtree(self.folder, ignore_errors=True)
        return "" if code == 0 else f"ended with {code}:\n{said}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--tune", default="")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.script = options.script or [str(pathlib.Path(__file__).with_name("launch_bound.py"))]
    if not glob.glob("/dev/nvidia[0-9]*"):
        print("skipped: no GPU here")
        sys.exit(SKIPPED)
    end = time.monotonic() + options.seconds
    running, ended, bad = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        while running or time.monotonic() < end:
            while len(running) < options.at_once and time.monotonic() < end:
                running.append(Process(options, ended + len(running), pathlib.Path(name)))
            time.sleep(0.1)
            for process in list(running):
                trouble = process.trouble(options.limit)
                if trouble is None:
                    continue
                running.remove(process)
                ended += 1
                if trouble:
                    bad += 1
                    print(trouble, flush=True)
    print(f"{ended} processes, {bad} of them failed or hung")
    sys.exit(1 if bad or not ended else 0)


if __name__ == "__main__":
    main()

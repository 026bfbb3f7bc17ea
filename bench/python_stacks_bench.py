#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading Python's stacks costs the program: bench/python_stacks_bench.py [PYTHON ...]

For each Python: the start of a process, a mark, a stack read on the program's own thread at several
depths, and the sampler: its own share of a core and what a loop of pure Python takes more (of a core:
other programs on the machine do not count). Bare and recorded runs alternate, each in a fresh process;
the least and the median of RUNS.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build/lib/hone/libhone_collect.so"
RUNS = 9

CALLS = """
import ctypes, json, os, sys, time
library = ctypes.PyDLL(os.environ["HONE_LIBRARY"])
here, nothing = library.hone_frame_here, library.hone_recording
def best(call, *arguments, n=2000, rounds=150):
    least = 1e9
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(n): call(*arguments)
        least = min(least, (time.perf_counter() - begin) / n)
    return least * 1e9
scope = {"done": lambda: best(here, 0)}
for i in range(60):
    text = "def f%d(n):\\n  return f%d(n - 1) if n else done()" % (i, i + 1)
    exec(compile(text, "/a/file/of/its/own/%d.py" % i, "exec"), scope)
empty = best(nothing)
result = {"stack at depth %d" % depth: scope["f0"](depth) - empty for depth in (5, 20, 50)}
import hone
def region():
    with hone.region("x"): pass
result["hone.step()"] = best(hone.step)
result["with hone.region()"] = best(region)
print(json.dumps(result))
"""

LOOP = """
import json, os, sys, threading, time
def leaf(x): return x + 1
def work(n):
    for i in range(n): leaf(i)
def nested(depth, n): return nested(depth - 1, n) if depth else work(n)
waiting = threading.Event()
for _ in range(int(sys.argv[1])): threading.Thread(target=waiting.wait, daemon=True).start()
begin, spent = time.perf_counter(), time.thread_time()
nested(20, 12_000_000)
wall, spent = time.perf_counter() - begin, time.thread_time() - spent
sampler = 0.0
for task in os.listdir("/proc/self/task"):
    stat = open("/proc/self/task/%s/stat" % task).read()
    if "(hone-sampler)" in stat:
        fields = stat.rpartition(")")[2].split()
        sampler = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
print(json.dumps([spent, sampler / wall]))
waiting.set()
"""


def run(python, code, *arguments, recorded=True, env=()):
    folder = tempfile.mkdtemp(prefix="hone-bench-")
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("PYTHONPATH", "LD_PRELOAD", "PYTHONDONTWRITEBYTECODE")}
    if recorded:
        environment.update(HONE_RUN_DIR=folder, HONE_LIBRARY=str(LIBRARY), LD_PRELOAD=str(LIBRARY),
                           HONE_ALL="1", PYTHONPATH=str(ROOT / "python/inject"))
    environment.update(env)
    script = os.path.join(folder, "program.py")
    with open(script, "w") as file:
        file.write(code)
    begin = time.perf_counter()
    done = subprocess.run([python, script, *arguments], env=environment, capture_output=True, text=True,
                          check=True)
    wall = time.perf_counter() - begin
    shutil.rmtree(folder)
    return wall, json.loads(done.stdout) if done.stdout.strip() else None


def pairs(measure):
    """[(bare, recorded)], alternating."""
    return [(measure(False), measure(True)) for _ in range(RUNS)]


def row(name, least, middle, unit):
    print("  %-44s %8.2f %8.2f  %s" % (name, least, middle, unit))


def bench(python):
    version = subprocess.run([python, "-V"], capture_output=True, text=True).stdout.strip()
    print("%s (%s)%36s" % (version, python, "least   median"))
    found = pairs(lambda recorded: run(python, "pass", recorded=recorded)[0] * 1e3)
    row("start of a process", min(b for _, b in found) - min(a for a, _ in found),
        statistics.median(b - a for a, b in found), "ms")
    results = [run(python, CALLS)[1] for _ in range(3)]
    for name in results[0]:
        values = [result[name] for result in results]
        row(name, min(values), statistics.median(values), "ns")
    for threads in (0, 16):
        found = pairs(lambda recorded, threads=threads: run(python, LOOP, str(threads), recorded=recorded)[1])
        what = "pure Python, %d threads wait" % threads
        row(what, 100 * (min(b[0] for _, b in found) / min(a[0] for a, _ in found) - 1),
            100 * statistics.median(b[0] / a[0] - 1 for a, b in found), "% more")
        row("  the sampler itself", 100 * min(b[1] for _, b in found),
            100 * statistics.median(b[1] for _, b in found), "% of a core")


if __name__ == "__main__":
    for path in sys.argv[1:] or [sys.executable]:
        bench(path)

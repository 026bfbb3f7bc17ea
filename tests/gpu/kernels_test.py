#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same program under `hone run --all` and under torch.profiler on a real GPU: the same kernels, copies
and operators.

    kernels_test.py [--hone build/hone] [SCRIPT ARGS…]

Run by hand, on a machine with a GPU (exits with 77 without one). CUPTI has one reader a process, so these are two
processes of a program that does the same each time; counts by name must be equal, and times must be those of the
same kernels: the middle of each name's within a tenth or a microsecond.
"""
import argparse
import collections
import glob
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
FIRST, LAST = 10, 40  # steps that are compared

CHILD = '''
import json, os, runpy, sys
import torch
from torch.profiler import ProfilerActivity, profile
out, first, last, script, *arguments = sys.argv[1:]
first, last, steps = int(first), int(last), 0
profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) if out != "-" else None
def ended(*_):
    global steps
    steps += 1
    if steps in (first, last):
        torch.cuda.synchronize()
        if profiler is not None:
            profiler.start() if steps == first else profiler.stop()
        with torch.profiler.record_function("edge"):
            pass
from torch.optim.optimizer import register_optimizer_step_post_hook
register_optimizer_step_post_hook(ended)
sys.argv = [script, *arguments]
sys.path[0] = os.path.dirname(os.path.abspath(script))
runpy.run_path(script, run_name="__main__")
if profiler is not None:
    profiler.export_chrome_trace(out)
'''


def rows(hone, trace, query):
    told = subprocess.run([hone, "sql", str(trace), "--json", query], check=True, capture_output=True, text=True)
    return json.loads(told.stdout)


def between_edges(hone, trace):
    """{kind: {name: [ns, …]}} of what began between the two marks; torch.profiler ends before the second."""
    edges = sorted(row["ts"] for row in rows(hone, trace, "select ts from slice where name = 'edge'"))
    until = edges[1] if len(edges) > 1 else 2**62
    found = {}
    for kind, query in {
        "device": "select name, ts, dur from device_work",
        "operators": "select name, ts, dur from slice where kind = 'op'",
    }.items():
        times = found[kind] = collections.defaultdict(list)
        for row in rows(hone, trace, query):
            if edges[0] <= row["ts"] < until:
                times[row["name"]].append(row["dur"])
    return found


def compare(kind, ours, theirs):
    """Sentences about what differs."""
    wrong = []
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, []), theirs.get(name, [])
        if len(a) != len(b):
            wrong.append(f"{kind}: {len(a)} of hone, {len(b)} of torch.profiler: {name[:100]}")
        elif kind == "device":
            x, y = statistics.median(a), statistics.median(b)
            if abs(x - y) > max(0.1 * y, 1000):
                wrong.append(f"{kind}: {x / 1e3:.1f} us of hone, {y / 1e3:.1f} us of torch.profiler: {name[:100]}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("script", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    script = options.script or [str(pathlib.Path(__file__).with_name("launch_bound.py")), "60"]
    if not glob.glob("/dev/nvidia[0-9]*"):
        print("skipped: no GPU here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        child = folder / "child.py"
        child.write_text(CHILD)
        command = [sys.executable, str(child)]
        tail = [str(FIRST), str(LAST), *script]
        subprocess.run([*command, str(folder / "theirs.json"), *tail], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([options.hone, "run", "--all", "--quiet", "--no-analyze", "--out", str(folder / "ours"), "--",
                        *command, "-", *tail], check=True, stdout=subprocess.DEVNULL)
        ours, theirs = between_edges(options.hone, folder / "ours"), between_edges(options.hone, folder / "theirs.json")
    wrong = []
    for kind in ours:
        counts = [sum(map(len, side[kind].values())) for side in (ours, theirs)]
        print(f"{kind}: {counts[0]} of hone, {counts[1]} of torch.profiler, {len(theirs[kind])} names")
        wrong += compare(kind, ours[kind], theirs[kind])
    print("\n".join(wrong[:40]) or "the same")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

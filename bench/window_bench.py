#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a window of recording costs, against the steps around it in the same process.

    window_bench.py [--hone build/hone] [--steps 60] [--every 150] [--variant NAME=OPTIONS]… SCRIPT [ARGS…]

A host whose speed drifts by more than recording costs makes fresh processes a poor measure
(record_bench.py): here windows open and close in one process (`hone run --every`), and each is compared
with the steps before and after it. What stays behind when a window is closed is in both, and is not
seen: the last column has the steps between windows against those of a bare process of the same
script, with all its drift. A variant is what `hone run` is told, or NAME=VALUE of the environment:

    --variant 'ops=--collect ops' --variant 'launches=HONE_CUPTI_TUNE=runtime=launch'
"""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WARM_UP = 20  # steps that count for nothing

CHILD = '''
import ctypes, json, os, runpy, sys, time
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
out, script, *arguments = sys.argv[1:]
recording = getattr(ctypes.CDLL(None), "hone_recording", lambda: 0)
steps = []
register_optimizer_step_post_hook(lambda *_: steps.append((time.perf_counter(), recording())))
sys.argv = [script, *arguments]
sys.path[0] = os.path.dirname(os.path.abspath(script))
runpy.run_path(script, run_name="__main__")
with open(out, "w") as file:
    json.dump(steps, file)
'''


def runs_of(steps):
    """[(in a window, [ms, …]), …]: steps in a row of the same kind, without those at the change."""
    found = []
    for i in range(WARM_UP + 2, len(steps)):
        kinds = {steps[i - 2][1], steps[i - 1][1], steps[i][1]}
        if len(kinds) != 1:
            continue
        if not found or found[-1][0] != steps[i][1]:
            found.append((steps[i][1], []))
        found[-1][1].append((steps[i][0] - steps[i - 1][0]) * 1e3)
    return found


def ratios_of(runs):
    """Of each window to the mean of its neighbours."""
    return [statistics.median(inside[1]) / ((statistics.median(before[1]) + statistics.median(after[1])) / 2)
            for before, inside, after in zip(runs, runs[1:], runs[2:]) if inside[0]]


def measure(command, script, environment, folder):
    child, out = folder / "child.py", folder / "steps.json"
    child.write_text(CHILD)
    out.unlink(missing_ok=True)
    log = folder / "log"
    with open(log, "wb") as output:
        subprocess.run([*command, sys.executable, str(child), str(out), *script], stdout=output, stderr=output,
                       env=dict(os.environ, **environment), check=False)
    if not out.exists():
        sys.exit(f"the program left no steps: {log.read_text(errors='replace')[-2000:]}")
    return runs_of(json.loads(out.read_text()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=str(HERE.parent / "build" / "hone"))
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=150)
    parser.add_argument("--variant", action="append", default=[])
    parser.add_argument("script", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    variants = {"as it is": ""} | dict(text.split("=", 1) for text in options.variant)
    print(f"{'recorded':<16} {'in the window':>28} {'windows':>8} {'between / bare':>15}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, (variant, text) in enumerate(variants.items()):
            words = shlex.split(text)
            environment = dict(word.split("=", 1) for word in words if word.partition("=")[0].isupper())
            told = [word for word in words if word.partition("=")[0] not in environment]
            command = [options.hone, "run", *told, "--steps", str(options.steps), "--every", str(options.every),
                       "--quiet", "--no-analyze", "--out", str(folder / f"recording{number}"), "--"]
            runs = measure(command, options.script, environment, folder)
            bare = measure([], options.script, {}, folder)
            ratios = sorted(ratios_of(runs))
            between = statistics.median(ms for inside, times in runs if not inside for ms in times)
            alone = statistics.median(ms for _, times in bare for ms in times)
            cell = f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})" if ratios else "no window"
            print(f"{variant:<16} {cell:>28} {len(ratios):>8} {between / alone:>15.3f}", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: steps of real scripts under `hone run`, against the same scripts bare.

    record_bench.py [--hone build/hone] [--repeats 5] [--peers] WORKLOAD…

A workload is NAME=SCRIPT,ARGS…;BLOCK[;BLOCK] where a block is FIRST-LAST step; the first lies in
the recorded window, the second after it. Without one, a small CPU job is used. Every measurement
is a fresh process; the kinds take turns (A B C, C B A, …), so drift of the machine hits all alike.
Prints the ratio to the bare run: median, and the least and greatest of the pairs.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT = [f"small_cpu_job={HERE / 'record_job.py'};50-350;600-900"]


def parse(text):
    name, rest = text.split("=", 1)
    command, *blocks = rest.split(";")
    return name, command.split(","), blocks


def run(options, kind, command, blocks, folder):
    """Times of the blocks in milliseconds a step, and what hone left behind."""
    out = folder / "times.json"
    out.unlink(missing_ok=True)
    child = [sys.executable, str(HERE / "record_child.py"), "--blocks", ",".join(blocks), "--out", str(out)]
    if kind.startswith("profiler"):
        child += ["--profiler", kind.split("-")[1]]
    child += command
    if kind.startswith("hone"):
        last = int(blocks[0].split("-")[1])
        recording = folder / "recording"
        shutil.rmtree(recording, ignore_errors=True)
        child = [options.hone, "run", "--out", str(recording), "--steps", str(last + 5), "--"] + child
    log = folder / f"{kind}.log"
    with open(log, "wb") as output:
        done = subprocess.run(child, stdout=output, stderr=output, check=False, env=os.environ)
    if done.returncode != 0 or not out.exists():
        sys.exit(f"{kind}: exit {done.returncode}; {log.read_text(errors='replace')[-2000:]}")
    return json.loads(out.read_text())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=str(HERE.parent / "build" / "hone"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", action="store_true", help="torch.profiler too, light and full")
    parser.add_argument("--json", help="every measurement goes here")
    parser.add_argument("workloads", nargs="*", default=DEFAULT)
    options = parser.parse_args()
    kinds = ["bare", "hone"] + (["profiler-light", "profiler-full"] if options.peers else [])
    everything = {}
    print(f"{'workload':<16} {'block':<10} {'bare ms':>18} " + " ".join(f"{k + ' / bare':>26}" for k in kinds[1:]))
    for text in options.workloads:
        name, command, blocks = parse(text)
        times = {kind: [] for kind in kinds}
        with tempfile.TemporaryDirectory() as folder:
            for i in range(options.repeats):
                for kind in kinds if i % 2 == 0 else reversed(kinds):
                    times[kind].append(run(options, kind, command, blocks, pathlib.Path(folder)))
        everything[name] = times
        for block in blocks:
            bare = [t[block] for t in times["bare"]]
            cells = []
            for kind in kinds[1:]:
                ratios = sorted(t[block] / b for t, b in zip(times[kind], bare, strict=True))
                medians = statistics.median(t[block] for t in times[kind]) / statistics.median(bare)
                cells.append(f"{medians:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")
            print(f"{name:<16} {block:<10} {min(bare):6.2f} {statistics.median(bare):6.2f} {max(bare):4.1f} "
                  + " ".join(f"{c:>26}" for c in cells), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: steps of real scripts under `hone run`, against the same scripts bare.

    record_bench.py [--hone build/hone] [--repeats 5] [--kinds hone,…] [--answers DIR] WORKLOAD…

A workload is NAME=SCRIPT,ARGS…;BLOCK[;BLOCK] where a block is FIRST-LAST step; the first lies in
the recorded window, the second after it. Without one, a small CPU job is used. Kinds: hone
(the default); again (the bare script once more: what this machine can tell apart); tune (as `hone tune`
starts it for its proof, with no treatment: what standing inside costs. Steps 3, 24, 96, 384 and 1536 are
looked at and never count, so blocks lie between them); profiler-light and profiler-full (torch.profiler).
Every measurement is a fresh process; the kinds take turns (A B C, C B A, …), and so do the workloads, so drift of the
machine hits all alike. Prints the ratio to the bare run of the same round: median, least and greatest.
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
import time

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT = [f"small_cpu_job={HERE / 'record_job.py'};50-350;600-900"]


def parse(text):
    name, rest = text.split("=", 1)
    command, *blocks = rest.split(";")
    return name, command.split(","), blocks


def injected_folder(hone):
    """Where the binary's Python lies: beside it, in an installed tree, or over a build folder."""
    beside = pathlib.Path(hone).resolve().parent
    for place in (beside / "lib/hone/python/inject", beside.parent / "lib/hone/python/inject",
                  beside.parent / "python/inject"):
        if place.is_dir():
            return place
    sys.exit(f"no Python package beside {hone}: build it or give --hone")


def as_tune_starts_it(hone, folder):
    """The environment of a trial that has no treatment and more steps than the script."""
    trial = folder / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    trial.mkdir()
    order = {"version": 1, "recipe": [], "seed_offset": 0, "steps": 10**9, "seconds": 0, "describe": False,
             "recorded": False, "compared": True, "guard_steps": 0, "guard_s": 0, "treatments": ""}
    (trial / "order.json").write_text(json.dumps(order))
    path = os.pathsep.join(filter(None, [str(injected_folder(hone)), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, "HONE_BENCH_DIR": str(trial), "HONE_TUNE": str(trial / "order.json")}


def run(options, kind, name, command, blocks, folder):
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
    more = as_tune_starts_it(options.hone, folder) if kind == "tune" else {}
    with open(log, "wb") as output:
        done = subprocess.run(child, stdout=output, stderr=output, check=False, env={**os.environ, **more})
    if kind == "tune" and done.returncode == 0 and not list((folder / "trial").glob("tune-*.json")):
        raise RuntimeError("tune: the injected Python left no report: it was not there")
    if done.returncode != 0 or not out.exists():
        raise RuntimeError(f"{kind}: exit {done.returncode}; {log.read_text(errors='replace')[-4000:]}")
    if kind.startswith("hone") and options.answers:
        shutil.copy(recording / "report.txt", pathlib.Path(options.answers) / f"{name}.txt")
    return json.loads(out.read_text())


class Result:
    """Times of one workload: for each round, each kind's blocks."""

    def __init__(self, text):
        self.name, self.command, self.blocks = parse(text)
        self.rounds = []
        self.failures = []

    def measure(self, options, kinds, folder):
        times = {}
        for kind in kinds if len(self.rounds) % 2 == 0 else reversed(kinds):
            try:
                times[kind] = run(options, kind, self.name, self.command, self.blocks, folder)
            except RuntimeError as trouble:  # told, counted, and the others go on
                self.failures.append(str(trouble))
                print(f"{self.name}: {trouble}", file=sys.stderr, flush=True)
                return
        self.rounds.append(times)

    def rows(self, kinds):
        for block in self.blocks:
            bare = [r["bare"][block] for r in self.rounds]
            if not bare:
                continue
            cells = []
            for kind in kinds[1:]:
                ratios = sorted(r[kind][block] / b for r, b in zip(self.rounds, bare, strict=True))
                cells.append(f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")
            yield (f"{self.name:<16} {block:<10} {min(bare):6.2f} {statistics.median(bare):6.2f} {max(bare):6.2f} "
                   + " ".join(f"{c:>26}" for c in cells) + f" {len(bare):>5}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=str(HERE.parent / "build" / "hone"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, help="seconds: start no round that would end later")
    parser.add_argument("--kinds", default="hone", help="again, hone, tune, profiler-light, profiler-full")
    parser.add_argument("--answers", help="folder: what `hone run` said of each workload the last time")
    parser.add_argument("--json", help="every measurement goes here, as soon as it is there")
    parser.add_argument("workloads", nargs="*", default=DEFAULT)
    options = parser.parse_args()
    kinds = ["bare", *options.kinds.split(",")]
    results = [Result(text) for text in options.workloads]
    began, longest = time.monotonic(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            start = time.monotonic()
            if options.budget and start - began + longest > options.budget:
                break
            for result in results:
                result.measure(options, kinds, pathlib.Path(folder))
                if options.json:
                    kept = {r.name: {"rounds": r.rounds, "failures": r.failures} for r in results}
                    pathlib.Path(options.json).write_text(json.dumps(kept, indent=1))
            longest = max(longest, time.monotonic() - start)
    print(f"{'workload':<16} {'block':<10} {'bare ms: least, middle, most':>20} "
          + " ".join(f"{k + ' / bare':>26}" for k in kinds[1:]) + " pairs")
    for result in results:
        for row in result.rows(kinds):
            print(row)
    if any(result.failures for result in results):
        sys.exit(f"{sum(len(r.failures) for r in results)} processes failed")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One program of the labelled set as a process of its own, for `hone run`.

    hone run --steps 30 --out DIR -- python run_program.py PROGRAM [--fixed] [--device cuda] [--seconds S]

Runs steps for S seconds after a warm-up, each marked by hone.step() where hone is there, and prints
milliseconds a step (the median) as one line of JSON.
"""
import argparse
import json
import statistics
import time

from child import load

try:
    import hone
except ImportError:
    hone = None  # not under hone run: measured bare


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    program = load(options.program)
    job = program.build(options.fixed, options.device)
    # A program whose steps are not alike comes round after `multiple` of them: all were seen once.
    for _ in range(max(3, 2 * program.LABEL.get("multiple", 1))):
        job()
    times = []
    began = time.perf_counter()
    while time.perf_counter() - began < options.seconds or len(times) < 8:
        start = time.perf_counter()
        job()
        if hone:
            hone.step()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"ms": statistics.median(times), "steps": len(times)}), flush=True)


if __name__ == "__main__":
    main()

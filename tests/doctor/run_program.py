#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One program of the labelled set as a process of its own, for `hone run`.

    hone run --steps 30 --out DIR -- python run_program.py PROGRAM [--fixed | --pair] [--device cuda] [--seconds S]

Runs steps for S seconds after a warm-up, each marked by hone.step() where hone is there, and prints
milliseconds a step (the median) as one line of JSON. With --pair the fixed variant is built after that, when
recording is over, and blocks of both take turns in this process: on a host where two processes of one
program differ by more than a prediction may be off, only that tells what the change is worth.
"""
import argparse
import ctypes
import json
import math
import statistics
import time

from child import Program
from record import ORDER

try:
    import hone
except ImportError:
    hone = None  # not under hone run: measured bare


BLOCK_S = 0.4
MOST_WAIT_S = 8


def wait_for_the_end_of_recording():
    recording = getattr(ctypes.CDLL(None), "hone_recording", lambda: 0)
    deadline = time.monotonic() + MOST_WAIT_S
    while recording():
        if time.monotonic() > deadline:
            raise SystemExit("run_program: still recorded; give hone run fewer --steps")
        time.sleep(0.05)


def compare(variants, multiple):
    """Milliseconds a step of each variant, block by block."""
    steps, found = {}, {word: [] for word in variants}
    for word, variant in variants.items():
        spent, ms = 0.0, 0.0
        while spent < BLOCK_S:
            ms = variant.run(4 * multiple, 0)
            spent += 4 * multiple * ms / 1e3
        steps[word] = multiple * math.ceil(BLOCK_S * 1e3 / ms / multiple)
    for word in ORDER:
        found[word].append(round(variants[word].run(steps[word], 2 * multiple), 4))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--pair", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    program = Program(options.program, options.fixed, options.device)
    multiple = program.label.get("multiple", 1)
    times = []
    with program.turn():
        # A program whose steps are not alike comes round after `multiple` of them: all were seen once.
        for _ in range(max(3, 2 * multiple)):
            program.step()
        began = time.perf_counter()
        while time.perf_counter() - began < options.seconds or len(times) < 8:
            start = time.perf_counter()
            program.step()
            if hone:
                hone.step()
            times.append((time.perf_counter() - start) * 1e3)
    answer = {"ms": statistics.median(times), "steps": len(times)}
    if options.pair:
        wait_for_the_end_of_recording()
        fixed = Program(options.program, True, options.device)
        answer["pair_ms"] = compare({"bad": program, "fixed": fixed}, multiple)
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

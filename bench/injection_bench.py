#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What standing inside of a program costs, with no treatment at all.

    injection_bench.py [--hone build/hone] [--pairs 5] [--metric METRIC] SCRIPT [ARGS…]

Three commands in turns through `hone bench`, none of them touched by the bench's own probe: the
script, the script again (how well this machine can tell), and the script as `hone tune` starts
it with an empty recipe. Without a script, a small job for the CPU. The default metric is what the
script prints as "N samples/s"; for one that prints none: --metric wall.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def injected_folder(hone):
    """Where the binary's Python lies, in a build folder or an installed tree."""
    home = pathlib.Path(hone).resolve().parent.parent
    for place in (home / "lib/hone/python/inject", home / "python/inject"):
        if place.is_dir():
            return place
    sys.exit(f"no Python package beside {hone}: build it or give --hone")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=str(HERE.parent / "build" / "hone"))
    parser.add_argument("--pairs", default="5")
    parser.add_argument("--metric", default=r"regex:([0-9.]+) samples/s")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    script = options.script or [str(HERE / "record_job.py")]
    metric = options.metric if options.script else "wall"
    with tempfile.TemporaryDirectory() as folder:
        # More steps than the script has: it goes to its own end, as the bare one does.
        order = pathlib.Path(folder, "order.json")
        order.write_text(json.dumps({
            "version": 1, "recipe": [], "seed_offset": 0, "steps": 10**9, "seconds": 0, "describe": False,
            "recorded": False, "compared": True, "guard_steps": 0, "guard_s": 0, "treatments": ""}))
        bare = [sys.executable, *script]
        path = os.pathsep.join(filter(None, [str(injected_folder(options.hone)), os.environ.get("PYTHONPATH")]))
        inside = ["env", f"PYTHONPATH={path}", f"HONE_BENCH_DIR={folder}", f"HONE_TUNE={order}", *bare]
        higher = ["--higher-is-better"] if metric.startswith("regex:") else []
        command = [options.hone, "bench", "--no-probe", "--quiet", "--pairs", options.pairs, "--metric", metric, *higher]
        done = subprocess.run([*command, *(["--json"] if options.json else []), "--", *bare, "--", *bare, "--", *inside],
                              check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        if not list(pathlib.Path(folder).glob("*-*.json")):
            sys.exit("the injected Python left no report: nothing was measured here")


if __name__ == "__main__":
    main()

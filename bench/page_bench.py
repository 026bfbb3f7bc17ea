#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `hone analyze --html` and weighs the page, against what they are held to.

A trace of 70 MB of raw JSON is to be a page in under two seconds and under 25 MB. This is a
measurement for people: no test depends on it.
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import analyze_bench  # noqa: E402
import make_trace  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS, MEGABYTES = 2.0, 25.0


def timed(command):
    """(seconds, seconds of processor time): the second says what the first would be on a machine
    that has nothing else to do."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(*cells):
    print("  {:<20}{:>8}{:>11}{:>23}{:>8}{:>8}{:>7}{:>9}".format(*cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("--mb", type=float, nargs="*", default=[70, 140, 280, 560], help="raw sizes")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    shared = pathlib.Path(os.environ.get("HONE_SHARED") or ROOT.parent / "shared") / "traces"
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    row("trace, repeated", "raw MB", "events", "s (min / median / max)", "cpu s", "of 2 s", "MB", "of 25 MB")
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as temporary:
        trace, page = (pathlib.Path(temporary) / name for name in ("t.json.gz", "page.html"))
        for source in (ROOT / "tests" / "traces" / "resnet50_bad_light.json.gz",
                       shared / "resnet50_good_full.json.gz"):
            if not source.exists():
                print(f"  {source.name}: not here, left out")
                continue
            for megabytes in options.mb:
                raw, events = make_trace.write_repeated(source, trace, megabytes)
                command = [options.hone, "analyze", trace, "--html", page, "--quiet"]
                runs = [timed(command) for _ in range(options.runs)]
                seconds = [run[0] for run in runs]
                size = page.stat().st_size / 1e6
                held = raw < 100e6  # the limits speak of one size
                row(source.name.split(".")[0], f"{raw / 1e6:.0f}", f"{events:,}",
                    analyze_bench.spread(seconds), f"{statistics.median(run[1] for run in runs):.2f}",
                    f"{statistics.median(seconds) / SECONDS:.2f}" if held else "", f"{size:.1f}",
                    f"{size / MEGABYTES:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

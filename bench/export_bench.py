#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `hone export` in every format against `hone analyze` of the same file in the same run.

Runs are interleaved, so that a slow minute of the machine hits both. Prints seconds for 100 MB of raw
input, the ratio to analyze, the peak of memory beside that of analyze, and the size of what was written;
then the same for the shapes that a careless writer is slow on. A measurement for people: no test
depends on it.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_trace  # noqa: E402
from analyze_bench import ROOT, timed  # noqa: E402


def size_of(path):
    if path.is_dir():
        return sum(p.stat().st_size for p in path.iterdir())
    return path.stat().st_size


def formats(hone):
    """As the program itself lists them."""
    said = subprocess.run([hone, "export", "--help"], stdout=subprocess.PIPE, text=True, check=True)
    words = " ".join(said.stdout.split())
    return words.split("the format: ")[1].split(" -o,")[0].split(", ")


def measure(label, path, raw, events, options, folder):
    analyze = [options.hone, "analyze", "--json", "-o", "/dev/null", path]
    names = [n for n in formats(options.hone) if n not in options.without]
    runs = {name: [] for name in ["analyze", *names]}
    sizes = {}
    timed(analyze)  # the file into the page cache
    for _ in range(options.runs):
        runs["analyze"].append(timed(analyze))
        for name in names:
            target = folder / f"out.{name}"
            runs[name].append(timed([options.hone, "export", path, "--to", name, "-o", target, "--quiet"]))
            sizes[name] = size_of(target)
            shutil.rmtree(target) if target.is_dir() else target.unlink()
    base = statistics.median(seconds for seconds, _ in runs["analyze"])
    memory = statistics.median(peak for _, peak in runs["analyze"])
    print(f"\n{label}: {raw / 1e6:.0f} MB of JSON, {events:,} events")
    print("  {:<12}{:>28}{:>12}{:>12}{:>14}{:>12}".format(
        "", "s/100 MB min / med / max", "x analyze", "peak MB", "x analyze", "wrote MB"))
    for name, measured in runs.items():
        seconds = [s / raw * 1e8 for s, _ in measured]
        peak = statistics.median(p for _, p in measured)
        print("  {:<12}{:>28}{:>12.2f}{:>12.0f}{:>14.2f}{:>12}".format(
            name, " / ".join(f"{f(seconds):.2f}" for f in (min, statistics.median, max)),
            statistics.median(s for s, _ in measured) / base, peak / 1e6, peak / memory,
            f"{sizes[name] / 1e6:.1f}" if name in sizes else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("--mb", type=float, default=80, help="raw size of the trace (80, 300,000 events)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], help="formats to leave out")
    parser.add_argument("--events", type=int, default=300_000, help="events of each shape")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as temporary:
        folder = pathlib.Path(temporary)
        source = ROOT / "tests" / "traces" / "resnet50_bad_light.json.gz"
        path = folder / "big.json.gz"
        raw, events = make_trace.write_repeated(source, path, options.mb)
        measure(source.name, path, raw, events, options, folder)
        for shape in make_trace.SHAPES:
            raw, events = make_trace.write_shape(shape, path, options.events, 6)
            measure(shape, path, raw, events, options, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

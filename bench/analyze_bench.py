#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `hone analyze` against Python's json.load on the same file in the same run.

Prints minimum, median and maximum of the runs, the peak memory for each event, and what the runs
are held against: 300 MB of raw JSON a second, ten times json.load, 200 bytes an event. This is a
measurement for people: no test depends on it.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_trace  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
JSON_LOAD = "import gzip, json, sys; json.load(gzip.open(sys.argv[1]))"


# Linux counts the memory of the process that forked into the peak of what it starts, and this one
# has held a whole trace. A small process in between keeps the figure honest.
RUN = """import os, subprocess, sys, time
begin = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - begin, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status))"""


def timed(command):
    """(seconds, peak bytes) of one run of a command."""
    command = [str(word) for word in command]
    said = subprocess.run([sys.executable, "-c", RUN, *command], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    if said[2] != "0":
        sys.exit(f"analyze_bench: exit {said[2]}: {' '.join(command)}")
    return float(said[0]), int(said[1])


def hone(path, options):
    return timed([options.hone, "analyze", "--json", "-o", "/dev/null", path])


def spread(values, form="{:.2f}"):
    return " / ".join(form.format(f(values)) for f in (min, statistics.median, max))


def row(*cells):
    print("  {:<34}{:>26}{:>14}{:>14}".format(*cells), flush=True)


def against_json_load(label, path, raw, events, options):
    """The main table: interleaved runs, so that a slow minute of the machine hits both."""
    ours, peaks, theirs = [], [], []
    hone(path, options)  # the file into the page cache
    for number in range(options.runs):
        seconds, peak = hone(path, options)
        ours.append(seconds)
        peaks.append(peak)
        if number < options.json_runs:
            theirs.append(timed([sys.executable, "-c", JSON_LOAD, path])[0])
    median = statistics.median(ours)
    print(f"\n{label}: {raw / 1e6:.0f} MB raw, {os.path.getsize(path) / 1e6:.0f} MB gzip, {events:,} events")
    row("", "min / median / max", "", "wanted")
    row("hone analyze, s", spread(ours), "", "")
    row("raw JSON, MB/s", spread([raw / 1e6 / s for s in ours], "{:.0f}"), "", ">= 300")
    row("peak memory, bytes an event", spread([p / events for p in peaks], "{:.0f}"), "", "<= 200")
    if theirs:
        row("json.load, s", spread(theirs), "", "")
        row("times faster than json.load", f"{statistics.median(theirs) / median:.1f}", "", ">= 10")
    return median / events


def growth(source, folder, options):
    print("\ngrowth: the same trace repeated")
    row("raw GB", "s (min / median / max)", "MB/s", "bytes/event")
    for gigabytes in (0.125, 0.25, 0.5, 1, 2, 4):
        path = folder / "curve.json.gz"
        raw, events = make_trace.write_repeated(source, path, gigabytes * 1000, level=1)
        runs = [hone(path, options) for _ in range(3)]
        seconds = [s for s, _ in runs]
        row(f"{raw / 1e9:.3f}", spread(seconds), f"{raw / 1e6 / statistics.median(seconds):.0f}",
            f"{statistics.median(p for _, p in runs) / events:.0f}")
        path.unlink()


def shapes(plain, folder, options):
    """Time for each event of awkward shapes, as a multiple of a real trace's."""
    print("\nshapes: one million events each; time for an event against the real trace above")
    row("shape", "s (min / median / max)", "ns/event", "times plain")
    for shape in make_trace.SHAPES:
        path = folder / f"{shape}.json.gz"
        _, events = make_trace.write_shape(shape, path, options.events)
        seconds = [hone(path, options)[0] for _ in range(3)]
        each = statistics.median(seconds) / events
        row(shape, spread(seconds), f"{each * 1e9:.0f}", f"{each / plain:.2f}")
        path.unlink()


def whole_answer(source, folder, options):
    """All rules and the replay included; the limit is the product's, the growth must be linear."""
    print("\nthe whole answer: analysis, replay and every rule (wanted: 70 MB in under 0.5 s, linear)")
    row("raw MB", "s (min / median / max)", "ms/MB", "wanted")
    for megabytes in (70, 140, 280, 560):
        path = folder / "answer.json.gz"
        raw, _ = make_trace.write_repeated(source, path, megabytes)
        seconds = [hone(path, options)[0] for _ in range(options.runs)]
        row(f"{raw / 1e6:.0f}", spread(seconds, "{:.3f}"), f"{statistics.median(seconds) / raw * 1e9:.2f}",
            "< 0.5 s" if megabytes == 70 else "")
        path.unlink()


def small(paths, options):
    print("\nsmall traces, ms of the whole process (wanted: well under 100)")
    row("trace", "min / median / max", "", "")
    for path in paths:
        if path.exists():
            hone(path, options)
            row(path.name, spread([hone(path, options)[0] * 1e3 for _ in range(10)], "{:.1f}"), "", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("--mb", type=float, default=520, help="raw size of the main trace (520)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json-runs", type=int, default=2)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of each shape")
    parser.add_argument("--curve", action="store_true", help="also the growth up to 4 GB (minutes)")
    parser.add_argument("--folder", type=pathlib.Path, help="where the traces are made (temporary)")
    options = parser.parse_args()

    traces = ROOT / "tests" / "traces"
    source = traces / "resnet50_bad_light.json.gz"
    shared = pathlib.Path(os.environ.get("HONE_SHARED") or ROOT.parent / "shared") / "traces"
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="hone-bench-", dir=options.folder) as temporary:
        folder = pathlib.Path(temporary)
        plain = 0.0
        for path in (source, shared / "resnet50_good_full.json.gz"):
            if not path.exists():
                print(f"\n{path.name}: not here, left out")
                continue
            big = folder / "big.json.gz"
            raw, events = make_trace.write_repeated(path, big, options.mb)
            each = against_json_load(path.name, big, raw, events, options)
            plain = plain or each
            big.unlink()
        whole_answer(source, folder, options)
        small((traces / "tiny_bad_light.json.gz", source), options)
        shapes(plain, folder, options)
        if options.curve:
            growth(source, folder, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

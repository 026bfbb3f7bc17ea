#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's format, decoded with Perfetto's own protos (package `perfetto`, tools/requirements-test.txt).

Every packet is read as the trace processor reads it (perfetto_trace.py), and the slices, arrows,
counters and samples that come out are compared with those of the Chrome export, whose round trip
through hone is tested by itself. Where the trace processor is at hand (HONE_TRACE_PROCESSOR names
its shell), it is asked the same in SQL.
"""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import HONE, ROOT, SKIPPED, Checks, hone, inputs, nanos, read_chrome

try:
    import perfetto.protos  # noqa: F401
except ImportError:
    python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
    if os.environ.get("HONE_EXPORT_REENTERED") or not os.path.exists(python):
        print("skipped: no Python here has the package perfetto; tools/install_torch brings it")
        sys.exit(SKIPPED)
    os.environ["HONE_EXPORT_REENTERED"] = "1"
    os.execv(python, [python, *sys.argv])

from perfetto_trace import PerfettoTrace  # noqa: E402

OWN = {"step", "idle"}  # found by hone, not recorded
API = {"cuda_driver": "cuda_runtime"}


def chrome_slices(document):
    base = int(document["baseTimeNanoseconds"])
    found = collections.Counter()
    for event in document["traceEvents"]:
        if event["ph"] == "X" and event["cat"] not in ("Trace", "cuda_event"):
            found[event["name"], base + nanos(event["ts"]), nanos(event["dur"]),
                  API.get(event["cat"], event["cat"])] += 1
    return found


def perfetto_slices(trace, moved):
    return collections.Counter(
        (s.name, s.start - moved, s.args.get("whole duration (ns)", s.duration), s.categories[0])
        for s in trace.slices if s.categories[0] not in OWN)


def check_against_chrome(checks, label, trace, document):
    chrome = chrome_slices(document)
    first = min((key[1] for key in chrome), default=0)
    moved = -first if first < 0 else 0
    own = perfetto_slices(trace, moved)
    checks.equal(list((chrome - own).items())[:2], [], f"{label}: slices missing")
    checks.equal(list((own - chrome).items())[:2], [], f"{label}: slices too many")
    calls = collections.Counter(e["cat"] for e in document["traceEvents"] if e["ph"] == "f")
    to_work = [b for a, b in trace.arrows if b.categories[0] not in ("cpu_op", "user_annotation")]
    checks.equal(len(to_work), calls["ac2g"], f"{label}: arrows from calls to work")
    for call, work in trace.arrows:
        if "correlation" in call.args and "correlation" in work.args:
            checks.equal(call.args["correlation"], work.args["correlation"], f"{label}: an arrow")
    values = sum(len(e["args"]) for e in document["traceEvents"] if e["ph"] == "C")
    memory = [e["args"] for e in document["traceEvents"] if e["name"] == "[memory]"]
    reserved = sum("Total Reserved" in args for args in memory)
    checks.equal(len(trace.counters), values + len(memory) + reserved, f"{label}: counters")
    checks.equal(len(trace.samples), sum(s["sf"] != "0" for s in document.get("samples", [])),
                 f"{label}: samples")
    steps = [e for e in document["traceEvents"] if e.get("cat") == "Trace" and e["tid"] == "steps"]
    checks.equal(sum(s.categories == ["step"] for s in trace.slices), len(steps), f"{label}: steps")


def check_samples(checks, label, trace, document):
    frames = document.get("stackFrames", {})

    def stack(at):
        names = []
        while at is not None:
            names.append(frames[at]["name"])
            at = frames[at].get("parent")
        return names[::-1]
    wanted = collections.Counter(tuple(stack(s["sf"])) for s in document.get("samples", [])
                                 if s["sf"] != "0")
    checks.equal(collections.Counter(tuple(names) for *_, names in trace.samples), wanted,
                 f"{label}: stacks")


def check_tracks(checks, label, trace):
    for item in trace.slices:
        process = trace.process_of(item.track)
        checks.that(process is not None, f"{label}: {item.name!r} belongs to no process")
        device_work = item.categories[0] in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_graph")
        if process is not None and device_work:
            checks.that(process.name.split(": ")[-1].startswith("GPU ") or ": GPU " in process.name
                        or process.name.startswith("GPU "), f"{label}: work on {process.name!r}")
    pids = [t.descriptor.process.pid for t in trace.tracks.values() if t.descriptor.HasField("process")]
    checks.equal(len(pids), len(set(pids)), f"{label}: processes share a pid")
    checks.that(all(0 < pid <= 2**31 - 1 for pid in pids), f"{label}: pids {pids}")


def check_ranks(checks, folder):
    """A directory of ranks is one file; what each rank has alone is there with its own process."""
    from chrome_test import RANK
    ranks = folder / "ranks"
    ranks.mkdir()
    bases = (1_700_000_000_000_000_000, 1_700_000_000_000_500_000)
    for rank, base in enumerate(bases):
        (ranks / f"rank{rank}.json").write_text(RANK % (base, rank))
    trace = PerfettoTrace(hone("export", ranks, "--to", "perfetto", "-o", "-"))
    checks.equal(trace.errors, [], "ranks: errors")
    checks.equal(trace.clock_offset, 0, "ranks: trace time is time since 1970")
    kernels = [s for s in trace.slices if s.categories == ["kernel"]]
    checks.equal(sorted(s.start for s in kernels), [base + 40_001 for base in bases], "ranks: times")
    checks.equal(sorted(trace.process_of(s.track).name for s in kernels),
                 ["rank 0: GPU 0: GPU", "rank 1: GPU 0: GPU"], "ranks: devices")
    checks.equal(len(trace.arrows), 2, "ranks: arrows")
    for call, work in trace.arrows:
        checks.equal(trace.process_of(call.track).name[:6], trace.process_of(work.track).name[:6],
                     "ranks: an arrow stays in its rank")


QUERIES = [
    ("select count(*) from slice", lambda t: len(t.slices)),
    ("select count(*) from flow", lambda t: len(t.arrows)),
    ("select count(*) from counter", lambda t: len(t.counters)),
    ("select sum(value) from stats where severity = 'error'", lambda t: 0),
]


def ask_trace_processor(checks, path, trace, label):
    shell = os.environ.get("HONE_TRACE_PROCESSOR")
    if not shell:
        return
    for query, wanted in QUERIES:
        done = subprocess.run([shell, "query", str(path), query], capture_output=True, text=True,
                              check=False)
        checks.equal(done.stdout.split()[-1], str(wanted(trace)), f"{label}: {query}")


def main():
    checks = Checks()
    with inputs() as traces, tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for label, path in traces:
            file = folder / "trace.perfetto-trace"
            hone("export", path, "--to", "perfetto", "-o", file, "--quiet")
            trace = PerfettoTrace(file.read_bytes())
            checks.equal(trace.errors[:3], [], f"{label}: errors")
            document = read_chrome(hone("export", path, "--to", "chrome", "-o", "-"))
            check_against_chrome(checks, label, trace, document)
            check_samples(checks, label, trace, document)
            check_tracks(checks, label, trace)
            ask_trace_processor(checks, file, trace, label)
        check_ranks(checks, folder)
        print(f"{len(traces)} traces, {HONE}")
    if not os.environ.get("HONE_TRACE_PROCESSOR"):
        print("Perfetto's trace processor was not asked (HONE_TRACE_PROCESSOR names its shell)")
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())

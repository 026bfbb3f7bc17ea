#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chrome's JSON: valid as published, and hone reads the same answer back from it.

The round trip is the strong test: what the writer loses or shifts changes a number somewhere in the
answer. It runs over every trace of the golden cases, damage and oddities included.
"""
import collections
import gzip
import pathlib
import sys
import tempfile

from harness import Checks, analyze, hone, inputs, nanos, read_chrome

# What a copy of a file may say otherwise: what it is, and what was broken in the original.
FILE = {"trace", "trust"}
# Of formats whose recorder PyTorch's fields do not name, these must come through all the same.
NUMBERS = ["steps", "timeline", "idle", "kernels", "ops", "transfers", "kernel_sizes"]

PHASES = set("XiCMsf")
SCOPES = {"g", "p", "t"}


def differences(left, right, path=""):
    if type(left) is not type(right):
        return [(path, left, right)]
    if isinstance(left, dict):
        found = []
        for key in sorted(set(left) | set(right)):
            found += differences(left.get(key, "(none)"), right.get(key, "(none)"), f"{path}/{key}")
        return found
    if isinstance(left, list):
        if len(left) != len(right):
            return [(f"{path} length", len(left), len(right))]
        return [d for i, (a, b) in enumerate(zip(left, right))
                for d in differences(a, b, f"{path}[{i}]")]
    return [] if left == right else [(path, left, right)]


def without_reasons(value):
    """Why something is absent names the recorder; that it is absent must stay."""
    if isinstance(value, dict):
        if set(value) == {"absent"}:
            return {"absent": True}
        return {k: without_reasons(v) for k, v in value.items()
                if k not in ("start_us", "start_ms")}  # times since 1970 are moved nearer to 0
    return [without_reasons(v) for v in value] if isinstance(value, list) else value


def check_events(checks, label, document):
    """Trace Event Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"""
    flows = collections.defaultdict(lambda: collections.Counter())
    for event in document["traceEvents"]:
        phase = event.get("ph")
        good = phase in PHASES and isinstance(event.get("name"), str)
        good &= isinstance(event.get("pid"), (int, str)) and isinstance(event.get("tid"), (int, str))
        good &= phase == "M" or isinstance(event.get("ts"), str)
        good &= phase != "X" or nanos(event.get("dur", "-1")) >= 0
        good &= phase != "i" or event.get("s") in SCOPES
        good &= phase != "C" or all(isinstance(v, (int, str)) for v in event["args"].values())
        good &= phase not in "sf" or isinstance(event.get("id"), int)
        checks.that(good, f"{label}: not an event as published: {str(event)[:300]}")
        if phase in ("s", "f"):
            flows[event["cat"], event["id"]][phase] += 1
    for key, ends in flows.items():
        if key[0] == "ac2g":
            checks.that(ends["s"] == 1 and ends["f"] >= 1, f"{label}: arrow {key} has {dict(ends)}")


def check_nesting(checks, label, document):
    """Device work of one track nests: viewers draw stacks."""
    tracks = collections.defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "X" and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_graph"):
            start = nanos(event["ts"])
            tracks[event["pid"], event["tid"]].append((start, start + nanos(event["dur"])))
    for key, spans in tracks.items():
        stack, crossing = [], 0
        for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            crossing += bool(stack and stack[-1] < end)
            stack.append(end)
        checks.equal(crossing, 0, f"{label}: crossing work on track {key}")


def check_round_trip(checks, label, path, folder):
    original = analyze(path)
    copy = folder / "copy.json"
    hone("export", path, "--to", "chrome", "-o", copy, "--quiet")
    document = read_chrome(copy.read_bytes())
    check_events(checks, label, document)
    check_nesting(checks, label, document)
    if not any(e["ph"] == "X" or e["name"] == "[memory]" for e in document["traceEvents"]):
        return  # counters alone: a file that no reader of PyTorch's traces takes for one
    again = analyze(copy)
    checks.that(again is not None, f"{label}: hone cannot read its own export")
    if again is None:
        return
    kineto = original["trace"]["format"] == "kineto"
    keys = [k for k in original if k not in FILE] if kineto else NUMBERS
    # Findings of damaged files speak of the damage.
    for key in keys:
        left, right = without_reasons(original.get(key)), without_reasons(again.get(key))
        checks.equal(differences(left, right)[:3], [], f"{label}: {key} (original, copy)")


def check_files(checks, folder, path):
    plain = folder / "plain.json"
    packed = folder / "packed.json.gz"
    hone("export", path, "--to", "chrome", "-o", plain)
    hone("export", path, "--to", "chrome", "-o", packed)
    checks.equal(gzip.decompress(packed.read_bytes()), plain.read_bytes(), ".gz holds the same")
    checks.equal(hone("export", path, "--to", "chrome", "-o", "-"), plain.read_bytes(), "-o -")
    piped = hone("export", path, "--to", "chrome", "-o", "-", "--gzip")
    checks.equal(gzip.decompress(piped), plain.read_bytes(), "-o - --gzip")
    checks.equal(sorted(p.name for p in folder.glob("*.part")), [], "nothing half-written stays")


RANK = """{"schemaVersion": 1, "baseTimeNanoseconds": %d, "distributedInfo": {"rank": %d, "world_size": 2},
"deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 77, "ts": 10.000, "dur": 8.000,
 "args": {"External id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77, "ts": 12.000, "dur": 3.000,
 "args": {"correlation": 101, "External id": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40.001, "dur": 20.000,
 "args": {"device": 0, "stream": 7, "correlation": 101}}
]}"""


def check_ranks(checks, folder):
    """Both ranks have pid 77 and device 0, and clocks that start apart."""
    ranks = folder / "ranks"
    ranks.mkdir()
    for rank, base in enumerate((1_700_000_000_000_000_000, 1_700_000_000_000_500_000)):
        (ranks / f"rank{rank}.json").write_text(RANK % (base, rank))
    document = read_chrome(hone("export", ranks, "--to", "chrome", "-o", "-"))
    base = int(document["baseTimeNanoseconds"])
    kernels = [e for e in document["traceEvents"] if e.get("cat") == "kernel"]
    checks.equal(sorted(base + nanos(e["ts"]) for e in kernels),
                 [1_700_000_000_000_040_001, 1_700_000_000_000_540_001], "times of both ranks")
    checks.equal(len({e["pid"] for e in kernels}), 2, "a device of its own for each rank")
    ops = [e for e in document["traceEvents"] if e.get("cat") == "cpu_op"]
    checks.equal(len({e["pid"] for e in ops}), 2, "a process of its own for each rank")
    names = [e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"]
    checks.that({"rank 0: program", "rank 1: program"} <= set(names), f"processes are named by rank: {names}")


def main():
    checks = Checks()
    with inputs() as traces, tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for label, path in traces:
            check_round_trip(checks, label, path, folder)
        check_files(checks, folder, dict(traces)["traces/tiny_bad_light.json.gz"])
        check_ranks(checks, folder)
        print(f"{len(traces)} traces")
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""speedscope's file format, against the rules of its published schema and of its reader.

https://www.speedscope.app/file-format-schema.json, written down here field by field; the reader adds
that events come in order, that every close matches the last open one, and that weights match samples.
"""
import collections
import json
import sys

from harness import Checks, hone, inputs, nanos, read_chrome

UNITS = {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}
FILE = {"$schema": str, "shared": dict, "profiles": list, "name": str, "activeProfileIndex": int,
        "exporter": str}
FRAME = {"name": str, "file": str, "line": int, "col": int}
PROFILE = {"type": str, "name": str, "unit": str, "startValue": int, "endValue": int}
EVENTED = {**PROFILE, "events": list}
SAMPLED = {**PROFILE, "samples": list, "weights": list}
EVENT = {"type": str, "frame": int, "at": int}


def check_shape(checks, label, value, shape, required):
    good = isinstance(value, dict) and set(required) <= set(value) <= set(shape)
    good = good and all(type(value[key]) is shape[key] for key in value)
    checks.that(good, f"{label}: {str(value)[:200]}")


def check_evented(checks, label, profile, frames):
    """The (frame, start, end) of every call."""
    check_shape(checks, label, profile, EVENTED, EVENTED)
    stack, spans, at, wrong = [], [], profile["startValue"], 0
    for event in profile["events"]:
        wrong += set(event) != set(EVENT) or not 0 <= event["frame"] < frames or event["at"] < at
        at = event["at"]
        if event["type"] == "O":
            stack.append(event)
        elif event["type"] == "C" and stack and stack[-1]["frame"] == event["frame"]:
            spans.append((event["frame"], stack.pop()["at"], at))
        else:
            wrong += 1
    checks.equal(wrong, 0, f"{label}: events out of order, unmatched or without a frame")
    checks.equal(len(stack), 0, f"{label}: frames left open")
    checks.that(at <= profile["endValue"], f"{label}: an event after the end")
    return spans


def check_sampled(checks, label, profile, frames):
    check_shape(checks, label, profile, SAMPLED, SAMPLED)
    checks.equal(len(profile["samples"]), len(profile["weights"]), f"{label}: weights")
    checks.that(all(0 <= f < frames for sample in profile["samples"] for f in sample),
                f"{label}: frames of samples")
    checks.that(all(type(w) is int and w >= 0 for w in profile["weights"]), f"{label}: weights")
    checks.equal(sum(profile["weights"]), profile["endValue"] - profile["startValue"],
                 f"{label}: weights fill the profile")


def full_name(frame):
    return f"{frame['file']}({frame['line']}): {frame['name']}" if "line" in frame else frame["name"]


def main():
    checks = Checks()
    with inputs() as traces:
        for label, path in traces:
            document = json.loads(hone("export", path, "--to", "speedscope", "-o", "-"))
            check_shape(checks, label, document, FILE, ["$schema", "shared", "profiles"])
            checks.equal(document["$schema"], "https://www.speedscope.app/file-format-schema.json",
                         f"{label}: schema")
            frames = document["shared"]["frames"]
            for frame in frames:
                check_shape(checks, f"{label}: frame", frame, FRAME, ["name"])
            calls = collections.Counter()
            for profile in document["profiles"]:
                where = f"{label}: {profile.get('name')}"
                checks.that(profile.get("unit") in UNITS, f"{where}: unit {profile.get('unit')}")
                if profile.get("type") == "evented":
                    for frame, start, end in check_evented(checks, where, profile, len(frames)):
                        calls[full_name(frames[frame]), end - start] += 1
                else:
                    checks.equal(profile.get("type"), "sampled", where)
                    check_sampled(checks, where, profile, len(frames))
            if document["profiles"]:
                checks.that(0 <= document["activeProfileIndex"] < len(document["profiles"]),
                            f"{label}: active profile")
            chrome = read_chrome(hone("export", path, "--to", "chrome", "-o", "-"))
            host_and_device = collections.Counter(
                (e["name"] or "(no name)", nanos(e["dur"])) for e in chrome["traceEvents"]
                if e["ph"] == "X" and e["cat"] not in
                ("Trace", "cuda_event", "cuda_sync", "gpu_user_annotation"))
            checks.equal(list((host_and_device - calls).items())[:2], [], f"{label}: calls missing")
            checks.equal(list((calls - host_and_device).items())[:2], [], f"{label}: too many calls")
    print(f"{len(traces)} traces")
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The readers that judge our exports find planted mistakes. A check that cannot fail proves nothing."""
import sys

import speedscope_test
from harness import Checks

import perfetto_test  # noqa: F401  finds a Python with the package, or skips
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto_trace import PerfettoTrace


def good_trace():
    """One slice on one thread, and an arrow to another."""
    trace = pb.Trace()
    first = trace.packet.add(trusted_packet_sequence_id=1, sequence_flags=1)
    first.trace_packet_defaults.timestamp_clock_id = 6
    first.interned_data.event_categories.add(iid=1, name="cpu_op")
    track = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
    track.uuid = 5
    track.process.pid = 1
    for time, kind in ((10, 1), (12, 1), (14, 2), (20, 2)):
        packet = trace.packet.add(trusted_packet_sequence_id=1, sequence_flags=2, timestamp=time)
        packet.track_event.type = kind
        packet.track_event.track_uuid = 5
        if kind == 1:
            packet.track_event.name_iid = 7
            packet.track_event.category_iids.append(1)
    trace.packet[2].interned_data.event_names.add(iid=7, name="aten::mm")
    trace.packet[2].track_event.flow_ids.append(99)
    trace.packet[3].track_event.terminating_flow_ids.append(99)
    return trace


def errors_of(change):
    trace = good_trace()
    change(trace)
    return PerfettoTrace(trace.SerializeToString()).errors


def perfetto_mistakes(checks):
    good = PerfettoTrace(good_trace().SerializeToString())
    checks.equal((good.errors, len(good.slices), len(good.arrows)), ([], 2, 1), "a good trace")

    def plant(what, change):
        checks.that(errors_of(change), f"not found: {what}")

    def drop(index):
        return lambda trace: trace.packet.__delitem__(index)
    plant("no cleared state", drop(0))
    plant("no track", drop(1))
    plant("a begin less", drop(2))
    plant("an end less", drop(5))
    plant("a name that is not interned",
          lambda t: t.packet[2].interned_data.event_names.__delitem__(0))
    plant("a name interned twice",
          lambda t: t.packet[3].interned_data.event_names.add(iid=7, name="x"))
    plant("no clock", lambda t: t.packet[0].ClearField("trace_packet_defaults"))
    plant("no sequence", lambda t: t.packet[4].ClearField("trusted_packet_sequence_id"))
    unknown = good_trace().SerializeToString() + b"\x0a\x06\x50\x01\xf8\xff\x07\x01"
    checks.that(PerfettoTrace(unknown).errors, "not found: an unknown field")


def speedscope_mistakes(checks):
    def failures(events, **fields):
        inner = Checks()
        profile = {"type": "evented", "name": "t", "unit": "nanoseconds", "startValue": 0,
                   "endValue": 10, "events": [{"type": t, "frame": f, "at": at} for t, f, at in events],
                   **fields}
        speedscope_test.check_evented(inner, "planted (expected):", profile, 2)
        return inner.failed
    checks.equal(failures([("O", 0, 1), ("O", 1, 2), ("C", 1, 3), ("C", 0, 9)]), 0, "a good profile")
    for what, events in {"crossing": [("O", 0, 1), ("O", 1, 2), ("C", 0, 3), ("C", 1, 4)],
                         "open": [("O", 0, 1)], "back in time": [("O", 0, 5), ("C", 0, 4)],
                         "no such frame": [("O", 7, 1), ("C", 7, 2)],
                         "late": [("O", 0, 1), ("C", 0, 11)]}.items():
        checks.that(failures(events), f"not found: {what}")


def main():
    checks = Checks()
    perfetto_mistakes(checks)
    speedscope_mistakes(checks)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())

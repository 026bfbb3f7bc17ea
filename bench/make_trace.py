#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes big traces: a real one repeated to a size, or a shape that a careless reader is slow on.

Each copy of a repeated trace is moved behind the one before it, and everything that links events
(External id, correlation, flow ids, Ev Idx, Python ids, sequence numbers, step numbers) is moved
into a range of its own, so that the result is one long recording and not the same one many times.
"""
import argparse
import gzip
import itertools
import pathlib
import re
import sys

# Numbers to move. `ts` by time, the others by a stride that no id of the trace reaches.
TIME = re.compile(r'"ts": ?(-?\d+)(\.\d+)?')
IDS = re.compile(r'"(?:External id|external id|correlation|id|Ev Idx|Python id|Python parent id|'
                 r'Sequence number|wait_on_cuda_event_record_corr_id)": ?(\d+)')
STEPS = re.compile(r'ProfilerStep#(\d+)')
SHAPES = ("flat", "nested", "shared")


def read(path):
    data = pathlib.Path(path).read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")


def split_events(text):
    """(head up to the first event, the events, the tail from the closing bracket on)."""
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("}", begin, text.rindex("]", begin)) + 1
    return text[:begin], text[begin:end], text[end:]


class Repeater:
    """Takes the events apart once, so that a copy is a join and not a search."""

    def __init__(self, events):
        found = [(m.start(1), m.end(0), m) for m in TIME.finditer(events)]
        found += [(m.start(1), m.end(1), m) for m in IDS.finditer(events)]
        found += [(m.start(1), m.end(1), m) for m in STEPS.finditer(events)]
        found.sort(key=lambda item: item[0])
        self.pieces, self.times, self.ids, self.steps = [], [], [], []
        at = 0
        for begin, end, match in found:
            self.pieces += [events[at:begin], None]
            where = len(self.pieces) - 1
            if match.re is TIME:
                whole, fraction = match.groups()
                digits = len(fraction) - 1 if fraction else 0
                nanos = int(whole) * 1000 + int((fraction or ".")[1:].ljust(3, "0")[:3] or 0)
                self.times.append((where, nanos, digits > 0))
            else:
                into = self.steps if match.re is STEPS else self.ids
                into.append((where, int(match.group(1))))
            at = end
        self.pieces.append(events[at:])
        values = [nanos for _, nanos, _ in self.times]
        # Metadata stands at 0 or at the window's edge; the span is that of what is left.
        half = max(values, default=0) / 2
        busy = [value for value in values if value > half] or values or [0]
        self.span = max(busy) - min(busy) + 1_000_000
        self.stride = max((value for _, value in self.ids), default=0) + 1
        self.step_count = len({value for _, value in self.steps})

    def copy(self, number, shift=True):
        pieces = self.pieces
        move = number * self.span if shift else 0
        stride = number * self.stride if shift else 0
        for where, nanos, decimals in self.times:
            value = nanos + move
            pieces[where] = f"{value // 1000}.{value % 1000:03d}" if decimals else str(value // 1000)
        for where, value in self.ids:
            pieces[where] = str(value + stride) if value else "0"
        for where, value in self.steps:
            pieces[where] = str(value + (number * self.step_count if shift else 0))
        return "".join(pieces)


def write_repeated(source, target, megabytes, raw_copy=False, level=6):
    """Writes at least `megabytes` (of 10^6 bytes) of JSON; returns (bytes, events)."""
    head, events, tail = split_events(read(source))
    repeater = Repeater(events)
    count = len(re.findall(r'"ph": ?"', events))
    written = total = number = 0
    with gzip.open(target, "wb", compresslevel=level) as out:
        written += out.write(head.encode())
        while number == 0 or written + len(tail) < megabytes * 1_000_000:
            text = repeater.copy(number, not raw_copy)
            written += out.write((",\n" + text if number else text).encode())
            total += count
            number += 1
        written += out.write(tail.encode())
    return written, total


def shape_events(shape, count):
    """One million events or so of an awkward kind, as lines."""
    def host(name, ts, dur, tid=1, cat="cpu_op", args=""):
        return (f'{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 1, "tid": {tid}, '
                f'"ts": {ts // 1000}.{ts % 1000:03d}, "dur": {dur // 1000}.{dur % 1000:03d}, '
                f'"args": {{{args}}}}}')
    if shape == "flat":
        for i in range(count):
            yield host(f"aten::op{i % 50}", i * 1000, 900, args=f'"External id": {i + 1}, "Ev Idx": {i}')
    elif shape == "nested":
        depth = 1000
        for block in range(count // depth):
            base = block * 4_000_000
            for level in range(depth):
                yield host(f"aten::op{level % 50}", base + level * 1000, 4_000_000 - 2000 * level - 1000,
                           args=f'"External id": {block * depth + level + 1}')
    else:  # shared: graph launches of ten thousand kernels under one correlation
        for launch in range(max(1, count // 10_000)):
            base = launch * 40_000_000
            yield host("cudaGraphLaunch", base, 50_000, cat="cuda_runtime",
                       args=f'"cbid": 311, "correlation": {launch + 1}')
            for i in range(10_000):
                yield host(f"kernel{i % 50}", base + 100_000 + i * 3000, 2000, tid=7, cat="kernel",
                           args=f'"device": 0, "context": 1, "stream": 7, "correlation": {launch + 1}, '
                                f'"grid": [1, 1, 1], "block": [128, 1, 1]').replace('"pid": 1', '"pid": 0')


def write_shape(shape, target, count=1_000_000, level=6):
    written = events = 0
    with gzip.open(target, "wb", compresslevel=level) as out:
        written += out.write(b'{"schemaVersion": 1, "traceEvents": [\n')
        lines = shape_events(shape, count)
        while batch := list(itertools.islice(lines, 20_000)):
            written += out.write(((",\n" if events else "") + ",\n".join(batch)).encode())
            events += len(batch)
        written += out.write(b"\n]}\n")
    return written, events


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", help="a trace to repeat, or a shape: " + ", ".join(SHAPES))
    parser.add_argument("-o", "--output", required=True, help="NAME.json.gz")
    parser.add_argument("--mb", type=float, default=500, help="raw size of a repeated trace (500)")
    parser.add_argument("--events", type=int, default=1_000_000, help="size of a shape (1000000)")
    parser.add_argument("--level", type=int, default=6, help="gzip level (6)")
    parser.add_argument("--raw-copy", action="store_true",
                        help="repeat without moving: many events at the same time with the same ids")
    options = parser.parse_args()
    if options.source in SHAPES:
        written, events = write_shape(options.source, options.output, options.events, options.level)
    else:
        written, events = write_repeated(options.source, options.output, options.mb,
                                         options.raw_copy, options.level)
    print(f"{options.output}: {written / 1e6:.1f} MB of JSON, {events:,} events")
    return 0


if __name__ == "__main__":
    sys.exit(main())

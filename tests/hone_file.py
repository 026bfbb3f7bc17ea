#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes .hone files from text, independently of the program's own encoder (src/wire).

    clock                      a word of one line: the table
    1000 1000 1700000000000    rows of it: one value a column, in the order of the table
    info
    pid 100
    host tid start duration name kind
    100 5000 200 aten::mm 0    only these columns; the file does not have the others
    repeat 3 every 1000        the rows up to `end` three times; start, time and ticks move on by
    ...                        1000 each time, correlation and sequence by 100
    end

Blank lines and lines that begin with # say nothing. Texts with blanks stand in quotes, "" is empty. A text where a
number of a string is expected (name, track, series, …) is put into the strings table. Chunks are
stored plain; `chunk` on a line of its own begins a new one. Rows of a table stand together unless
the file says otherwise.

    hone_file.py OUT.hone < text
"""
import shlex
import struct
import sys

TABLES = {  # name: number, columns with d(elta) v(alue) t(ext) f(loat)
    "schema": (0, "table:d table_name:t column:v column_name:t encoding:v"),
    "info": (1, "key:t value:t"),
    "clock": (2, "ticks:d monotonic_ns:d realtime_ns:d"),
    "strings": (3, "id:d text:t"),
    "threads": (4, "tid:d name:t"),
    "host": (5, "tid:d start:d duration:v name:v kind:v frame:d sequence:d forward_tid:v arguments:v end_tid:v"),
    "api": (6, "tid:d start:d duration:v domain:v cbid:v name:v correlation:d result:v frame:d"),
    "kernels": (7, "start:d duration:v device:v context:v stream:d correlation:d name:v grid_x:v grid_y:v grid_z:v "
                   "block_x:v block_y:v block_z:v registers:v static_shared:v dynamic_shared:v graph:v graph_node:d"),
    "copies": (8, "start:d duration:v device:v context:v stream:d correlation:d bytes:v copy_kind:v source_kind:v "
                  "target_kind:v target_device:v graph:v graph_node:d"),
    "sets": (9, "start:d duration:v device:v context:v stream:d correlation:d bytes:v memory_kind:v graph:v "
                "graph_node:d"),
    "syncs": (10, "start:d duration:v type:v context:v stream:v correlation:d event:v"),
    "graphs": (11, "start:d duration:v device:v stream:d correlation:d graph:v"),
    "overhead": (12, "start:d duration:v kind:v tid:v"),
    "driver_memory": (13, "time:d address:d bytes:v memory_kind:v device:v correlation:d pid:v"),
    "memory": (14, "tid:d time:d device_type:v device:v address:d bytes:v freed:v allocated:d reserved:d frame:d "
                   "oom:v"),
    "code": (15, "id:d file:t function:t first_line:v"),
    "frames": (16, "id:d caller:d code:v line:v"),
    "samples": (17, "tid:v time:d frame:d state:v period:v"),
    "arguments": (18, "id:d dims:t types:t concrete:t"),
    "counters": (19, "time:d track:v series:v value:f"),
    "marks": (20, "time:d kind:v value:v text:t"),
    "losses": (21, "what:t count:v detail:t"),
    "devices": (22, "device:v key:t value:t"),
    "collectives": (23, "start:d duration:v tid:v name:v dtype:v count:v communicator:v rank:v ranks:v sequence:d "
                        "algorithm:v protocol:v"),
}
ENCODINGS = "dvtf"
NAMED = {"name", "track", "series", "dtype", "algorithm", "protocol"}  # numbers of strings
MOVING = {"start", "time", "ticks"}
COUNTING = {"correlation", "sequence"}
MASK = 0xFFFFFFFF


def xxh32(data, seed=0):
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393

    def rotate(value, bits):
        return (value << bits | value >> (32 - bits)) & MASK

    at, size = 0, len(data)
    if size >= 16:
        lanes = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
        while at <= size - 16:
            for i, word in enumerate(struct.unpack_from("<4I", data, at)):
                lanes[i] = rotate((lanes[i] + word * p2) & MASK, 13) * p1 & MASK
            at += 16
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
    else:
        value = (seed + p5) & MASK
    value = (value + size) & MASK
    while at + 4 <= size:
        value = rotate((value + struct.unpack_from("<I", data, at)[0] * p3) & MASK, 17) * p4 & MASK
        at += 4
    while at < size:
        value = rotate((value + data[at] * p5) & MASK, 11) * p1 & MASK
        at += 1
    value = (value ^ value >> 15) * p2 & MASK
    value = (value ^ value >> 13) * p3 & MASK
    return value ^ value >> 16


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    value = (value + 2**63) % 2**64 - 2**63
    return varint((value << 1 ^ value >> 63) % 2**64)


def column_bytes(encoding, values):
    if encoding == "t":
        texts = [value.encode("utf-8", "surrogateescape") for value in values]
        return b"".join(varint(len(text)) + text for text in texts)
    if encoding == "f":
        return b"".join(struct.pack("<d", float(value)) for value in values)
    out, last = [], 0
    for value in values:
        out.append(zigzag(value - last if encoding == "d" else value))
        last = value
    return b"".join(out)


def columns_of(table):
    return [column.split(":") for column in TABLES[table][1].split()]


def chunk(table, names, rows):
    payload = b""
    for number, (name, encoding) in enumerate(columns_of(table)):
        if name in names:
            data = column_bytes(encoding, [row[names.index(name)] for row in rows])
            payload += struct.pack("<HBBI", number, ENCODINGS.index(encoding), 0, len(data)) + data
    head = struct.pack("<4sHHIII", b"hCHK", TABLES[table][0], 0, len(rows), len(payload), len(payload))
    return head + struct.pack("<I", xxh32(payload, xxh32(head))) + payload


def schema():
    rows = [[number, table, i, name, ENCODINGS.index(encoding)]
            for table, (number, _) in TABLES.items()
            for i, (name, encoding) in enumerate(columns_of(table))]
    return chunk("schema", [name for name, _ in columns_of("schema")], rows)


class Writer:
    def __init__(self, version=1):
        self.out = b"HONE\r\n\x1a\n" + struct.pack("<II", version, 0) + schema()
        self.strings = {}
        self.new_strings = []
        self.table, self.names, self.rows = None, [], []

    def intern(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.new_strings.append([len(self.strings), text])
        return self.strings[text]

    def begin(self, table, names):
        self.flush()
        self.table, self.names = table, names or [name for name, _ in columns_of(table)]

    def value(self, name, word):
        encoding = dict(columns_of(self.table))[name]
        if encoding == "t":
            return word
        if encoding == "f":
            return float(word)
        try:
            return int(word, 0)
        except ValueError:
            if name in NAMED:
                return self.intern(word)
            raise ValueError(f"{self.table}.{name}: {word!r} is no number") from None

    def row(self, words):
        if len(words) != len(self.names):
            raise ValueError(f"{self.table}: {len(words)} values for columns {' '.join(self.names)}: {words}")
        self.rows.append([self.value(name, word) for name, word in zip(self.names, words)])

    def flush(self):
        if self.new_strings:
            self.out += chunk("strings", ["id", "text"], self.new_strings)
            self.new_strings = []
        if self.rows:
            self.out += chunk(self.table, self.names, self.rows)
            self.rows = []


def expand(lines):
    """(words) of every line, with repeat … end written out."""
    block = None
    table = []
    for line in lines:
        words = shlex.split(line)
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "repeat":
            block, times, every = [], int(words[1]), int(words[3])
        elif words[0] == "end" and block is not None:
            for i in range(times):
                yield from moved(block, i, every, table)
            block = None
        elif block is not None:
            block.append(words)
        else:
            if words[0] in TABLES:
                table = words
            yield words


def moved(block, turn, every, table):
    names = table[1:] or [name for name, _ in columns_of(table[0])]
    for words in block:
        if words[0] in TABLES:
            names = words[1:] or [name for name, _ in columns_of(words[0])]
            yield words
            continue
        yield [str(int(word) + turn * every) if name in MOVING
               else str(int(word) + turn * 100) if name in COUNTING and int(word) > 0 else word
               for name, word in zip(names, words)]


def write(text, version=1):
    writer = Writer(version)
    for words in expand(text.split("\n")):
        if words == ["chunk"]:
            writer.flush()
        elif words[0] in TABLES and all(word in dict(columns_of(words[0])) for word in words[1:]):
            writer.begin(words[0], words[1:])
        else:
            writer.row(words)
    writer.flush()
    return writer.out


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as target:
        target.write(write(sys.stdin.read()))

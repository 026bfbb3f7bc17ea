#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the program at random moments: every file still opens, and hone still ends in order."""
import mmap
import os
import pathlib
import random
import signal
import struct
import sys
import time

import harness

KILLS = int(os.environ.get("HONE_KILLS", "200"))
AT_ONCE = 4

# Leaves regions, and beside each the time at which it ended, in a file that survives the program.
TIMED = """
    import ctypes, mmap, os, struct, sys, time
    lib = ctypes.CDLL(os.environ["HONE_LIBRARY"])
    assert lib.hone_start() == 0
    with open(sys.argv[1], "r+b") as file:
        times = mmap.mmap(file.fileno(), 0)
    for at in range(0, len(times), 8):
        lib.hone_region_begin(b"forward", 3)
        time.sleep(0.001)
        lib.hone_region_end()
        struct.pack_into("q", times, at, time.monotonic_ns())
    time.sleep(60)
"""


class Kill(harness.Case):
    def test_at_random_moments(self):
        """Any moment from the program's start on: every file opens, and hone ends in order."""
        moments = random.Random(1)
        marks = self.script(harness.MARKS)
        recorded = 0
        left = KILLS
        while left > 0:
            batch = []
            for _ in range(min(AT_ONCE, left)):
                process = self.start_hone([sys.executable, marks], ["--all"])
                # Half of them in the start-up, half while it records.
                batch.append((process, moments.uniform(0, 0.3) if moments.random() < 0.5 else None))
            left -= len(batch)
            start = time.monotonic()
            for i, (process, moment) in enumerate(batch):
                if moment is None:
                    process.stdout.readline()
                    batch[i] = (process, time.monotonic() + moments.uniform(0, 0.9))
                else:
                    batch[i] = (process, start + moment)
            for process, moment in sorted(batch, key=lambda item: item[1]):
                time.sleep(max(0, moment - time.monotonic()))
                os.kill(self.program(process.pid), signal.SIGKILL)
            for process, _ in batch:
                _, err = process.communicate(timeout=60)
                # Killed before there was a program: then it is hone that ran on.
                self.assertIn(process.returncode, (137,), err)
                for bad in (b"internal error", b"the analysis was killed", b"terminate"):
                    self.assertNotIn(bad, err)
                files = self.opens(process.out)
                self.assertTrue(any(path.name == "machine.hone" for path in files))
                recorded += sum(harness.rows_of(path, "host") for path in self.processes(process.out))
        self.assertGreater(recorded, KILLS, "half of them were killed while they recorded")

    def test_what_was_drained_stays(self):
        """Half a second is what may be lost: 0.7 s with the writer's round, and with the time that it
        waited for a core on a busy machine."""
        moments = random.Random(2)
        script = self.script(TIMED)
        must = 0
        for number in range(max(2, KILLS // 25)):
            path = self.folder / f"times{number}"
            path.write_bytes(bytes(8 * 20_000))
            process = self.start_hone([sys.executable, script, str(path)], ["--all"])
            with open(path, "r+b") as file:
                times = mmap.mmap(file.fileno(), 0)
            first = harness.wait_for(lambda seen=times: struct.unpack_from("q", seen)[0])
            time.sleep(max(0.0, moments.uniform(1.2, 2.2) - (time.monotonic_ns() - first) * 1e-9))
            program = self.program(process.pid)
            waited = self.waited_for_a_core(program)
            os.kill(program, signal.SIGKILL)
            process.communicate(timeout=60)
            ended = [end for (end,) in struct.iter_unpack("q", bytes(times)) if end]
            drained = sum(end < ended[-1] - 0.7e9 - waited for end in ended)
            (recorded,) = self.processes(process.out)
            self.assertGreaterEqual(harness.rows_of(recorded, "host"), drained,
                                    f"of {len(ended)} rows; the writer waited {waited * 1e-9:.2f} s for a core")
            must += drained
        self.assertGreater(must, 0, "every writer waited for a core all the time")

    @staticmethod
    def waited_for_a_core(pid):
        """Nanoseconds, of the recorder's writer; read by what is about to kill it."""
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            if (task / "comm").read_text() == "hone-writer\n":
                return int((task / "schedstat").read_text().split()[1])
        raise AssertionError(f"{pid} has no writer")

    def program(self, pid):
        """The launcher's first child, once it is there."""
        return harness.wait_for(lambda: harness.children(pid))[0]


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the program at random moments: every file still opens, and hone still ends in order."""
import os
import random
import signal
import sys
import time

import harness

KILLS = int(os.environ.get("HONE_KILLS", "200"))
AT_ONCE = 4


class Kill(harness.Case):
    def test_at_random_moments(self):
        """Any moment from the program's start to its third second; rows that were drained stay."""
        moments = random.Random(1)
        marks = self.script(harness.MARKS)
        recorded = 0
        left = KILLS
        while left > 0:
            batch = []
            for _ in range(min(AT_ONCE, left)):
                process = self.start_hone([sys.executable, marks], ["--all"])
                # Half of them in the start-up, half while it records.
                batch.append((process, time.monotonic() +
                              (moments.uniform(0, 0.3) if moments.random() < 0.5
                               else moments.uniform(0.3, 1.2))))
            left -= len(batch)
            for process, moment in sorted(batch, key=lambda item: item[1]):
                time.sleep(max(0, moment - time.monotonic()))
                for pid in self.children(process.pid):
                    os.kill(pid, signal.SIGKILL)
            for process, _ in batch:
                _, err = process.communicate(timeout=60)
                # Killed before there was a program: then it is hone that ran on.
                self.assertIn(process.returncode, (137,), err)
                files = self.opens(process.out)
                self.assertTrue(any(path.name == "machine.hone" for path in files))
                recorded += sum(harness.rows_of(path, "host") for path in self.processes(process.out))
        self.assertGreater(recorded, KILLS * 10, "most of them were killed while they recorded")

    def children(self, pid):
        """The program itself: the launcher's only child, once it is there."""
        def look():
            try:
                with open(f"/proc/{pid}/task/{pid}/children") as file:
                    return [int(word) for word in file.read().split()]
            except OSError:
                return None
        return harness.wait_for(look)


if __name__ == "__main__":
    harness.main()

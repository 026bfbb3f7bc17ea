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
        """Any moment from the program's start on; rows that were drained stay."""
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

    def program(self, pid):
        """The launcher's first child, once it is there."""
        return harness.wait_for(lambda: harness.children(pid))[0]


if __name__ == "__main__":
    harness.main()

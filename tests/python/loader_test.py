#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DataLoader workers: fetch and collate are seen in each, and nothing that comes out of them changes."""
import collections
import re
import unittest

import recorded
from recorded import FAKE, Run, program


def plain(text):
    # Process ids and addresses differ from run to run; so does which line of the loader's own file
    # finds a batch, with the worker that was first.
    text = re.sub(r"0x[0-9a-f]+|pid \d+|\(pid: \d+\)", "X", text)
    return re.sub(r'(dataloader\.py", line )\d+', r"\1N", text)


@recorded.needs_torch
class Loader(unittest.TestCase):
    def load(self, *arguments):
        """The run with the fake, which gave what it gives without: batches, errors, tracebacks."""
        python = recorded.torch_python()
        bare = Run(program("load.py"), *arguments, recorder=None, python=python)
        run = Run(program("load.py"), *arguments, recorder=FAKE, python=python)
        self.assertEqual(plain(run.out), plain(bare.out))
        # What torch's own iterator complains of in a forked child may be cut by the child's end.
        if "Exception ignored in" not in bare.err + run.err:
            self.assertEqual(plain(run.err), plain(bare.err))
        return run

    def regions(self, run, ended=False):
        """{pid: the marks in order}, each begin has its end. With `ended` the last fetch of a process may have none:
        a worker loads ahead while the program leaves its loop by an error, and may be ended meanwhile."""
        marks = collections.defaultdict(list)
        for pid, function, rest in run.calls("region_begin", "region_end"):
            marks[pid].append(rest.split()[0].split(".")[-1] if function == "region_begin" else "end")
        for pid, sequence in marks.items():
            whole = len(sequence)
            if ended and sequence.count("end") * 2 != len(sequence):
                whole -= sequence[::-1].index("fetch") + 1
            self.assertEqual(sequence[:whole].count("end") * 2, whole, pid)
        return marks

    def roles(self, run):
        return {pid: rest for pid, _, rest in run.calls("info") if rest.startswith("role ")}

    BATCH = ["fetch", "collate", "end", "end"]

    def test_in_the_process_itself(self):
        run = self.load(0, "-", "map", "items", "single", "stream", "collate", "fails", "collate_fails")
        (marks,) = self.regions(run).values()
        # Two rounds of three batches; 12 of one; a stream says that it has ended by a fetch that finds
        # nothing; the sixth sample fails in the second batch; collate fails in the first.
        expected = self.BATCH * (6 + 6 + 24) + (self.BATCH * 3 + ["fetch", "end"]) * 2 + self.BATCH * 6
        expected += self.BATCH + ["fetch", "end"] + self.BATCH
        self.assertEqual(marks, expected)
        self.assertIn("sample 5 is not there", run.out)
        self.assertIn("cannot collate 4", run.out)
        self.assertEqual(self.roles(run), {})

    def test_forked_workers(self):
        run = self.load(2, "fork", "map", "persistent", "stream", "fails", "collate_fails")
        marks = self.regions(run)
        self.assertIn("in fetch", run.out)  # the worker's own traceback, which load() compared
        # Workers start anew for every round but the persistent ones'.
        self.assertGreaterEqual(len(marks), 2 * 2 + 2 + 2 * 2)
        self.assertEqual(set(self.roles(run)), set(marks))
        self.assertEqual(set(self.roles(run).values()), {"role loader worker 0", "role loader worker 1"})

    def test_spawned_workers(self):
        for method in ("spawn", "forkserver"):
            with self.subTest(method):
                run = self.load(1, method, "map", "fails")
                marks = self.regions(run, ended=True)
                self.assertEqual(len(marks), 3)
                self.assertIn(self.BATCH * 3, list(marks.values()))
                self.assertEqual(set(self.roles(run).values()), {"role loader worker 0"})

    def test_with_the_true_recorder(self):
        run = Run(program("load.py"), 2, "fork", "map", python=recorded.torch_python())
        names = {row[1]: row[2] for row in run.rows("strings")}
        loader = [row for row in run.rows("host") if row[5] == "4"]
        self.assertEqual(len(loader), 12)
        self.assertLessEqual({"DataLoader.fetch", "DataLoader.collate"}, set(names.values()))
        self.assertEqual(len([row for row in run.rows("info") if row[1] == "role"]), 4)


if __name__ == "__main__":
    recorded.main()

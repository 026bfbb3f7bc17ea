#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hone tune` on a disk that becomes full: the disk is named, not the program, and the search goes on later.

The disk is a tmpfs of 6 MB in a mount namespace of its own; where that is not allowed the test skips.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")

# Trains; in its third run it writes until the disk is full. "quietly": as something else would, a log or a
# neighbour; "loudly": as a checkpoint does.
PROGRAM = """
import os, sys
import torch
runs = open("runs", "a+")
runs.write("x")
runs.flush()
torch.manual_seed(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.01, foreach=False)
for step in range(200):
    loss = model(torch.ones(4, 8)).pow(2).mean()
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    print("step", step, flush=True)
    if step == 5 and os.path.getsize("runs") == 3:
        try:
            with open("disk/fill", "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        except OSError:
            if sys.argv[1] == "loudly":
                os.truncate("disk/fill", 1 << 20)  # and there is room again
                raise
"""

SEARCH = """
set -e
cd "$1"
mount -t tmpfs -o size=6m none disk
set +e
"$2" tune --seconds 0.3 --budget 10m --no-record --no-confirm --only set-to-none --out disk/t -- "$3" train.py "$4" \\
    >first.out 2>first.err
echo $? >first.rc
cp disk/t/tune.jsonl first.jsonl
rm disk/fill
"$2" tune --seconds 0.3 --budget 10m --no-record --no-confirm --only set-to-none --resume disk/t --json \\
    -- "$3" train.py "$4" >second.out 2>second.err
echo $? >second.rc
"""


def own_mounts():
    """The words that give a command mounts of its own."""
    for words in (["unshare", "-m"], ["unshare", "-rm"]):
        try:
            done = subprocess.run(words + ["sh", "-c", "mount -t tmpfs -o size=1m none /mnt"], capture_output=True)
        except OSError:
            break
        if done.returncode == 0:
            return words
    raise unittest.SkipTest("no file system may be mounted here (unshare -m)")


class FullDisk(unittest.TestCase):
    def search(self, how):
        python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
        if not os.access(python, os.X_OK):
            raise unittest.SkipTest(f"no PyTorch: {python} is not there (tools/install_torch)")
        words = own_mounts()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_disk_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "disk").mkdir()
        (self.folder / "train.py").write_text(PROGRAM)
        subprocess.run(words + ["sh", "-c", SEARCH, "sh", str(self.folder), HONE, python, how], check=True,
                       env=dict(os.environ, OMP_NUM_THREADS="1", LC_ALL="C.UTF-8", COLUMNS="80"), timeout=900)
        self.said = self.read("first.err")
        self.assertEqual(self.read("first.rc"), "1\n", self.said)
        last = self.said.strip().split("\n")[-1]
        self.assertTrue(last.startswith("hone tune: "), self.said)
        self.assertIn("every trial before this is kept in %s/disk/t/tune.jsonl: make room, then go on with hone tune "
                      "--resume %s/disk/t -- " % (self.folder, self.folder), last)
        self.assertNotIn("the program as it is fails", self.said)
        kept = self.read("first.jsonl").split("\n")
        self.assertEqual(kept.pop(), "")
        trials = [line for line in map(json.loads, kept) if line["line"] == "trial"]
        self.assertEqual(len(trials), 2, "those that were fine, and not the one that was cut off")
        self.assertEqual(self.read("second.rc"), "0\n", self.read("second.err"))
        answer = json.loads(self.read("second.out"))
        self.assertEqual(answer["ended"], "")
        # One run was cut off; no other was run twice.
        self.assertEqual(len(self.read("runs")), len(answer["trials"]) + 1)
        return last

    def read(self, name):
        return (self.folder / name).read_text()

    def test_one_that_stays_full_is_named(self):
        last = self.search("quietly")
        self.assertTrue(last.startswith("hone tune: the disk of %s/disk/t is full (" % self.folder), last)

    def test_one_that_only_the_program_saw_full_is_told_with_its_line(self):
        self.assertRegex(self.search("loudly"),
                         r"hone tune: a disk that the program writes to is full: "
                         r"OSError: .*No space left.*train.py:\d+")


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hone tune` on real processes with real PyTorch: what is adopted, what is rejected, what is said.

Nothing here depends on how fast the machine is: the gain that is to be found is sleep that workers share.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HONE = os.environ.get("HONE") or str(ROOT / "build" / "hone")
SLOW = HERE / "programs" / "slow_loader.py"
PLANTED = HERE / "planted"


def torch_python():
    python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
    if not os.access(python, os.X_OK):
        raise unittest.SkipTest(f"no PyTorch: {python} is not there (tools/install_torch)")
    return python


class Case(unittest.TestCase):
    def setUp(self):
        self.python = torch_python()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_tune_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def command(self, *words):
        return [HONE, "tune", "--seconds", "0.3", *map(str, words)]

    def environment(self):
        return dict(os.environ, OMP_NUM_THREADS="1", LC_ALL="C.UTF-8", COLUMNS="80")

    def tune(self, *words, code=0):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, cwd=self.folder,
                              env=self.environment(), timeout=900)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def script(self, text, name="train.py"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def rows(self, answer):
        return {row["treatment"]: row for row in answer["rows"]}


class Search(Case):
    def test_what_helps_is_adopted_proven_and_can_be_used(self):
        shutil.copy(SLOW, self.folder / "train.py")
        done = self.tune("--budget", "10m", "--out", "t", "--only", "loader-workers,set-to-none", "--json", "--",
                         self.python, "train.py")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["verdict"], "faster", done.stdout + done.stderr)
        self.assertGreater(answer["interval"][0], 1.1)
        self.assertEqual(answer["unit"], "samples/s")
        row = self.rows(answer)["loader-workers"]
        self.assertEqual(row["verdict"], "adopted")
        self.assertTrue(row["guard"]["checked"] and row["guard"]["passed"], row)
        self.assertIn("input-bound", answer["findings"])
        self.assertEqual(row["predicted_by"], "input-bound")
        self.assertIn("train.py", row["where"])
        for name in ("recipe.json", "recipe.patch", "report.html", "report.md", "report.json", "tune.jsonl"):
            self.assertTrue((self.folder / "t" / name).exists(), name)
        # What the doctor saw is the program, not what looks at it.
        seen = subprocess.run([HONE, "analyze", "t/recording", "--json"], cwd=self.folder, capture_output=True,
                              text=True, check=True).stdout
        self.assertIn("train.py", seen)
        self.assertNotIn("/hone/_", seen)
        # The patch makes the program do it itself, and then there is nothing left to do.
        subprocess.run(["patch", "-p1", "-i", "t/recipe.patch"], cwd=self.folder, check=True,
                       capture_output=True)
        self.assertIn("num_workers=", (self.folder / "train.py").read_text())
        # The recipe does the same from outside.
        told = subprocess.run(
            [HONE, "run", "--recipe", "t/recipe.json", "--out", "r", "--", self.python, "-c",
             "import torch; print('workers', torch.utils.data.DataLoader(list(range(9))).num_workers)"],
            cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(told.stdout, "workers %d\n" % json.loads(row["options"])["num_workers"], told.stderr)

    def test_wrong_treatments_are_rejected_and_bad_ends_are_told(self):
        done = self.tune("--budget", "10m", "--no-record", "--no-confirm", "--out", "t", "--treatments", PLANTED,
                         "--only", "no-labels,overflow,gives-up", "--json", "--", self.python, SLOW)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["verdict"], answer["recipe"]), ("nothing", []), done.stderr)
        rows = [(row["treatment"], row["verdict"], row["why"]) for row in answer["rows"]]
        by_name = {name: (verdict, why) for name, verdict, why in rows}
        for name in ("no-labels", "overflow"):
            self.assertEqual(by_name[name][0], "rejected", rows)
        self.assertIn("label", by_name["no-labels"][1])
        ends = {trial["ending"]: trial for trial in answer["trials"] if trial["ending"] != "fine"}
        self.assertEqual(sorted(ends), ["error", "killed", "out of memory"], rows)
        self.assertIn("shapes do not fit", ends["error"]["error"])
        self.assertIn("OutOfMemoryError", ends["out of memory"]["error_type"])
        self.assertFalse((self.folder / "t" / "recipe.json").exists())

    def test_a_search_that_was_stopped_goes_on(self):
        words = ("--no-record", "--no-confirm", "--budget", "10m", "--only", "set-to-none,fused-optimizer")
        command = ("--", self.python, SLOW, "--steps", "40", "--wait", "0.0005")
        process = subprocess.Popen(self.command(*words, "--out", "t", *command), cwd=self.folder,
                                   env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        journal = self.folder / "t" / "tune.jsonl"
        end = time.monotonic() + 300
        while (not journal.exists() or journal.read_text().count('"trial"') < 2) and time.monotonic() < end:
            time.sleep(0.05)
        busy = self.tune(*words, "--resume", "t", *command, code=2).stderr
        self.assertIn("hone tune: t is in use by process %d (a search is running there)" % process.pid, busy)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        kept = journal.read_text().count('"trial"')
        self.assertGreaterEqual(kept, 2, out + err)
        answer = json.loads(self.tune(*words, "--resume", "t", "--json", *command).stdout)
        self.assertEqual(answer["ended"], "")
        folders = [name for name in os.listdir(self.folder / "t") if name.startswith("trial-")]
        # Those that were kept are not run again; the one that was cut off is.
        self.assertLessEqual(len(folders), len(answer["trials"]) + 1)
        wrong = self.tune(*words, "--resume", "t", "--", self.python, SLOW, "--steps", "41", code=1).stderr
        self.assertIn("another command", wrong)


class Programs(Case):
    def test_a_script_with_its_own_settings_is_respected(self):
        answer = json.loads(self.tune(
            "--budget", "10m", "--no-record", "--no-confirm", "--out", "t", "--only", "loader-workers", "--json",
            "--", self.python, SLOW, "--workers", "1", "--steps", "60", "--wait", "0.0005").stdout)
        self.assertEqual(answer["rows"], [])
        why = {one["treatment"]: one["why"] for one in answer["inapplicable"]}
        self.assertIn("num_workers=1", why["loader-workers"])

    def test_programs_that_cannot_be_tuned_get_one_sentence(self):
        never = self.script("import torch\nprint(torch.ones(3).sum())\n", "never.py")
        fails = self.script("import torch\nprint('so far')\nraise RuntimeError('no data in /nowhere')\n", "fails.py")
        for number, (words, text) in enumerate((
                ((self.python, never), "cannot be measured by its steps"),
                ((self.python, fails), "no data in /nowhere"),
                (("true",), "Python"), ((self.python, "-c", "pass"), "hone.step()"))):
            done = self.tune("--budget", "60s", "--no-record", "--out", "t%d" % number, "--", *words, code=1)
            self.assertEqual(done.stdout, "")
            self.assertIn(text, done.stderr)
            self.assertIn("hone tune: ", done.stderr)
        for words, code, text in (((), 2, "nothing to run"),
                                  (("--budget", "soon", "--", "true"), 2, "not a length of time"),
                                  (("--batch-flag", "--batch", "--", "python", "x.py"), 2,
                                   "--batch is not in the command"),
                                  (("--resume", "nowhere", "--", "true"), 1, "no search to go on with"),
                                  (("-o", "nowhere/x", "--", "true"), 1, "there is no folder nowhere; make it first"),
                                  (("--", "no-such-program"), 127, "no-such-program")):
            self.assertIn(text, self.tune(*words, code=code).stderr)

    def test_a_program_whose_child_trains_does_not_wait_for_it_for_ever(self):
        shutil.copy(HERE / "programs" / "child_trains.py", self.folder / "train.py")
        answer = json.loads(self.tune(
            "--budget", "10m", "--out", "t", "--only", "set-to-none", "--no-confirm", "--json", "--",
            self.python, "train.py").stdout)
        self.assertGreater(len(answer["trials"]), 2)
        for trial in answer["trials"]:
            self.assertEqual(trial["ending"], "fine", trial)
            self.assertLess(trial["wall_s"], 60)
        self.assertTrue(list((self.folder / "t" / "recording-trial").glob("done-*")))

    def test_a_child_that_is_killed_is_told_soon(self):
        text = (HERE / "programs" / "child_trains.py").read_text().replace(
            "        optimizer.step()\n", "        optimizer.step()\n        if _ == 6:\n"
            "            import os, signal\n            os.kill(os.getpid(), signal.SIGKILL)\n")
        self.assertIn("SIGKILL", text)
        begin = time.monotonic()
        said = self.tune("--budget", "20m", "--no-record", "--out", "t", "--", self.python,
                         self.script(text), code=1).stderr
        self.assertLess(time.monotonic() - begin, 120, "and not the 10 minutes that the first run may take")
        self.assertRegex(" ".join(said.split()), r"the program as it is fails \(killed\): process \d+, which trained, "
                         r"was ended by signal 9 \(Killed\), as the kernel ends one when memory is full, and the "
                         r"program went on waiting for it")

    def test_files_that_every_trial_writes_again_are_told(self):
        text = SLOW.read_text().replace("    optimizer.step()\n", "    optimizer.step()\n" + "".join(
            "            open('%s', 'a').write('x')\n" % name for name in ("ckpt.pt", "logs/a", "logs/b", "train.log")))
        self.assertIn("ckpt.pt", text)
        self.script(text)
        (self.folder / "logs").mkdir()
        (self.folder / "ckpt.pt").write_text("mine")
        words = "the program wrote ckpt.pt, logs/a, logs/b and 1 more file into the folder it runs in"
        done = self.tune("--budget", "10m", "--no-record", "--no-confirm", "--out", "t", "--only", "fused-optimizer",
                         "--json", "--", self.python, "train.py", "--steps", "40", "--wait", "0.0005")
        self.assertEqual(" ".join(done.stderr.split()).count(words), 1, done.stderr)
        self.assertLess(done.stderr.index("the program wrote"), done.stderr.index("   2 "))
        self.assertTrue(any(words in note for note in json.loads(done.stdout)["notes"]), done.stdout)

    def test_input_from_a_file_is_every_trials_from_its_beginning(self):
        self.script("import sys\nassert sys.stdin.read() == 'all of it'\n" + SLOW.read_text())
        (self.folder / "in.txt").write_text("all of it")
        with open(self.folder / "in.txt") as file:
            done = subprocess.run(
                self.command("--budget", "10m", "--no-confirm", "--out", "t", "--only", "fused-optimizer", "--json",
                             "--", self.python, "train.py", "--steps", "40", "--wait", "0.0005"),
                stdin=file, capture_output=True, text=True, cwd=self.folder, env=self.environment(), timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("the program wrote", done.stderr)
        self.assertIn("step 40 ", (self.folder / "t" / "recording-trial" / "output.txt").read_text())

    def test_a_patch_without_a_change_is_no_patch(self):
        text = SLOW.read_text()
        self.assertEqual(text.count("num_workers=options.workers)"), 1)
        self.script(text.replace("num_workers=options.workers)", "num_workers=options.workers, **{})"))
        done = self.tune("--budget", "10m", "--no-record", "--no-confirm", "--out", "t", "--only", "loader-workers",
                         "--", self.python, "train.py")
        self.assertIn("adopted", done.stdout)
        self.assertNotIn("patch -p1", done.stdout)
        self.assertFalse((self.folder / "t" / "recipe.patch").exists())
        self.assertRegex(" ".join(done.stdout.split()),
                         r"no patch makes this change, write it by hand: train.py:\d+: DataLoader")

    def test_batch_sizes(self):
        done = self.tune("--budget", "10m", "--no-record", "--out", "t", "--only", "batch-size", "--batch-flag",
                         "--batch", "--", self.python, SLOW, "--batch", "4", "--wait", "0.0002", "--steps", "60")
        self.assertRegex(done.stdout, r"(?m)^ +as it is.* 4 ")
        self.assertRegex(done.stdout, r"(?m)^ +--batch 8.* 8 ")
        self.assertIn("(best)", done.stdout)


class Words(Case):
    def test_the_manual_names_every_treatment(self):
        manual = (ROOT / "docs" / "user" / "tune.md").read_text()
        for path in (ROOT / "python" / "hone" / "treatments").glob("[a-z]*.py"):
            self.assertIn("`%s`" % path.stem.replace("_", "-"), manual)


if __name__ == "__main__":
    harness.main()

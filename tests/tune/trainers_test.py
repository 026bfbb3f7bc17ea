#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose loop is a library's: Hugging Face's Trainer and Lightning's, with the real libraries.

As in tune_test.py nothing depends on how fast the machine is: the gain that is to be found is sleep that
workers share.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness
from session_test import PYTHON, WORKERS, Ran, choice
from tune_test import HERE, Case as TuneCase

TRAINER, LIGHTNING = HERE / "programs/hf_trainer.py", HERE / "programs/lightning_fit.py"
BLOCKS = HERE / "programs/lightning_blocks.py"
NO_WAIT = ("--wait", "0", "--steps", "40")


def need(*names):
    """Skips where the Python of the tests does not have these."""
    if not os.access(PYTHON, os.X_OK):
        raise unittest.SkipTest(f"no PyTorch: {PYTHON} is not there (tools/install_torch)")
    ask = "import importlib.util as u, sys; print(*(n for n in sys.argv[1:] if u.find_spec(n) is None))"
    missing = subprocess.run([PYTHON, "-c", ask, *names], capture_output=True, text=True, check=True).stdout.split()
    if missing:
        raise unittest.SkipTest("no %s in %s (tools/requirements-test.txt)" % (" and no ".join(missing), PYTHON))


class Described(unittest.TestCase):
    _printed = {}

    def trial(self, *words, **order):
        ran = Ran(*words, order=order)
        self.assertEqual(ran.status, 0, ran.out + ran.err)
        for document in ran.documents:
            self.assertIsNone(document.get("trouble"), document)
            self.assertEqual(document["ended"], "steps")
        for probe in ran.probes:
            self.assertIsNone(probe.get("trouble"), probe)
        return ran

    def samples(self, ran):
        """From the first step on: both libraries fetch a batch ahead."""
        samples = ran.probes[0]["samples"]
        return samples[-1] - samples[0]

    def candidates(self, ran):
        return {one["treatment"]: one for one in ran.document["candidates"]}

    def why_not(self, ran):
        return {one["treatment"]: one["why"] for one in ran.document["inapplicable"]}

    def check_code(self, candidate, line, code):
        path, _, number = candidate["where"].rpartition(":")
        self.assertIn(line, pathlib.Path(path).read_text().splitlines()[int(number) - 1])
        self.assertTrue(candidate["code"].startswith(code), candidate["code"])

    def written(self, text, treatment, *words, lines=None):
        """The patch of a trial, and what the program prints as it is and patched, by its lines' first words.
        lines: what the patch adds."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_trainers_"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        program = folder / "train.py"
        program.write_text(text)
        ran = Ran(program, *words, order={"steps": 8, "recipe": [choice(treatment)]}, cwd=folder)
        self.assertEqual((ran.status, ran.effect(treatment)["state"]), (0, "applied"), ran.out + ran.err)
        patch = ran.document["patch"]
        printed = []
        if lines is not None:
            key = text, words
            added = [line[1:] for line in patch.splitlines() if line.startswith("+") and line[:3] != "+++"]
            self.assertEqual("\n".join(added), lines.rstrip("\n"), patch)
            if key not in self._printed:
                self._printed[key] = self._print(program, words, folder)
            subprocess.run(["git", "apply", "-"], cwd=folder, input=patch.encode(), check=True)
            printed = [self._printed[key], self._print(program, words, folder)]
        return (patch, *printed)

    def _print(self, program, words, folder):
        done = Ran(program, *words, cwd=folder)
        self.assertEqual(done.status, 0, done.out + done.err)
        return dict(line.partition(" ")[::2] for line in done.out.splitlines())

    def check_same(self, ran, as_it_is):
        """The treatment did what it says, and the same data came."""
        for effect in ran.document["effects"]:
            self.assertEqual((effect["state"], effect["why"]), ("applied", ""), effect)
        for part in ("order", "labels", "content"):
            self.assertEqual(ran.document["batches"][part], as_it_is.document["batches"][part])


class HuggingFace(Described):
    def setUp(self):
        need("transformers", "accelerate")

    def test_the_trainers_arguments_are_what_would_change(self):
        ran = self.trial(TRAINER, *NO_WAIT, describe=True, steps=12)
        self.assertEqual(len(ran.document["losses"]), 12)
        self.assertEqual(self.samples(ran), 11 * 8)
        found = self.candidates(ran)
        self.check_code(found["loader-workers"], "TrainingArguments(", "TrainingArguments(dataloader_num_workers=")
        self.check_code(found["batch-size"], "TrainingArguments(", "TrainingArguments(per_device_train_batch_size=")
        # accelerate shuffles by a seed for each epoch: workers do not change that. GPT-2's dropout draws.
        self.assertNotIn("shuffles", found["loader-workers"]["code"])
        self.assertIn("dropout", found["loader-workers"]["code"])
        self.assertIn("itself", self.why_not(ran)["fused-optimizer"])
        self.assertIn("sdpa", self.why_not(ran)["sdpa-attention"])

    def test_treatments_reach_the_loader_and_the_model(self):
        as_it_is = self.trial(TRAINER, *NO_WAIT, steps=12)
        ran = self.trial(TRAINER, *NO_WAIT, steps=12, recipe=[WORKERS, choice("bf16-autocast")])
        self.check_same(ran, as_it_is)
        losses, before = ran.document["losses"][:12], as_it_is.document["losses"]
        self.assertNotEqual(losses, before)
        for one, other in zip(losses, before):
            self.assertAlmostEqual(one, other, delta=0.02 * other)
        for line in ("+        dataloader_num_workers=2,", "+        bf16=True,"):
            self.assertIn(line, ran.document["patch"].splitlines())


    def test_what_the_trainer_has_no_argument_for_stands_before_it(self):
        lines = """\
    for block in %s.modules():
        if type(block).__name__ == "GPT2Block":
            block.compile()
"""
        words = ("--wait", "0", "--steps", "12")
        _, before, after = self.written(TRAINER.read_text(), "compile-regional", *words, lines=lines % "model")
        self.assertEqual((before["compiled"], after["compiled"]), ("0", "2"))
        # A model without a name, which the Trainer has; and a Trainer without one.
        text = TRAINER.read_text().replace("    model = GPT2LMHeadModel(config)\n", "").replace(
            "model=model", "model=GPT2LMHeadModel(config)").replace('    print("compiled"', '    print("")  # "')
        patch, = self.written(text, "compile-regional", *words)
        self.assertIn("(neither the model nor the Trainer has a name where they are made)", patch)
        self.assertNotIn("\n+", patch)
        text = text.replace("    Trainer(", "    trainer = Trainer(").replace(".train()", "\n    trainer.train()")
        patch, = self.written(text, "compile-regional", *words)
        self.assertIn("+    for block in trainer.model.modules():\n", patch)


class Lightning(Described):
    def setUp(self):
        need("lightning")

    def test_lines_before_the_loop_that_is_run(self):
        blocks = """\
    for block in net%s.modules():
        if type(block).__name__ == "Block":
            block.%s
"""
        text = BLOCKS.read_text()
        for words, path in (((), ".layers"), (("--whole",), "")):
            with self.subTest(words):
                _, before, after = self.written(text, "compile-default", *words, lines="    net%s.compile()" % path)
                self.assertEqual((before["compiled"], before["graphs"]), ("", "0"))
                self.assertEqual(after["compiled"], path[1:] or "itself")
                self.assertGreater(int(after["graphs"]), 0)
                self.assertAlmostEqual(float(before["weight"]), float(after["weight"]), delta=1e-4)
        _, _, after = self.written(text, "compile-regional", lines=blocks % (".layers", "compile()"))
        self.assertEqual(after["compiled"], "layers.0 layers.1 layers.2")
        self.assertGreater(int(after["graphs"]), 0)
        forward = """\
import types
import torch.utils.checkpoint
    def forward(block, *args, **kwargs):
        return torch.utils.checkpoint.checkpoint(type(block).forward, block, *args, use_reentrant=False, **kwargs)

"""
        _, before, after = self.written(text, "gradient-checkpointing", "--whole", lines=forward + blocks % (
            "", "forward = types.MethodType(forward, block)"))
        self.assertEqual((before["checkpoints"], after["checkpoints"]), ("0", "3"))
        self.assertEqual(before["weight"], after["weight"])

    def test_a_model_without_a_name_is_told(self):
        text = BLOCKS.read_text().replace("        net,\n", "        [net][0],\n")
        patch, = self.written(text, "compile-default")
        self.assertIn(": self.layers.compile() (the model has no name where fit is given it)", patch)
        self.assertNotIn("\n+", patch)

    def test_what_several_ranks_wrap_is_named_as_it_was_given(self):
        patch, = self.written(BLOCKS.read_text(), "compile-regional", "--devices", "2")
        self.assertIn("+    for block in net.modules():\n", patch)

    def test_an_evaluation_before_the_training_hides_nothing(self):
        ran = self.trial(LIGHTNING, *NO_WAIT, describe=True, steps=12)
        self.assertEqual(len(ran.document["losses"]), 12)
        self.assertEqual(self.samples(ran), 11 * 8)
        found = self.candidates(ran)
        self.check_code(found["loader-workers"], "loader = ", "DataLoader(..., num_workers=")
        self.check_code(found["fused-optimizer"], "torch.optim.Adam(", "Adam(…, fused=True)")
        self.check_code(found["compile-default"], "torch.optim.Adam(", "self.compile()")
        parts = [one for one in ran.document["candidates"] if one["options"].get("accumulate")]
        self.assertTrue(parts[0]["code"].endswith("\nTrainer(accumulate_grad_batches=2)"), parts)

    def test_treatments_reach_the_loader_and_the_model(self):
        as_it_is = self.trial(LIGHTNING, *NO_WAIT, steps=12)
        recipe = [WORKERS, choice("bf16-autocast"), choice("fused-optimizer")]
        ran = self.trial(LIGHTNING, *NO_WAIT, steps=12, recipe=recipe)
        self.check_same(ran, as_it_is)
        self.assertNotEqual(ran.document["losses"][:12], as_it_is.document["losses"])
        self.assertIn('precision="bf16-mixed",', ran.document["patch"])

    def test_its_own_settings_are_respected(self):
        ran = self.trial(LIGHTNING, *NO_WAIT, "--precision", "bf16-mixed", "--accumulate", "2", describe=True, steps=12)
        self.assertIn("autocast itself (bfloat16", self.why_not(ran)["bf16-autocast"])
        self.assertEqual(self.samples(ran), 11 * 16)
        self.assertFalse([one for one in ran.document["candidates"] if one["options"].get("accumulate")])

    def test_ranks_that_it_starts_leave_together(self):
        ran = self.trial(LIGHTNING, "--wait", "0", "--devices", "2", describe=True)
        self.assertEqual([(one["rank"], one["world"], len(one["losses"])) for one in ran.documents],
                         [(0, 2, 50), (1, 2, 50)])
        (loader,) = {one["where"] for one in ran.document["candidates"] if one["treatment"] == "loader-workers"}
        self.assertIn("lightning_fit.py", loader)  # and not where Lightning makes its own of it


class Search(TuneCase):
    def environment(self):
        return dict(super().environment(), HF_HUB_OFFLINE="1")

    def search(self, program, *words):
        shutil.copy(program, self.folder / "train.py")
        done = self.tune("--budget", "10m", "--no-confirm", "--out", "t", "--only", "loader-workers", "--json", "--",
                         self.python, "train.py", *words)
        answer = json.loads(done.stdout)
        row = self.rows(answer)["loader-workers"]
        self.assertEqual((row["verdict"], answer["unit"]), ("adopted", "samples/s"), done.stdout + done.stderr)
        self.assertTrue(row["guard"]["checked"] and row["guard"]["passed"], row)
        self.assertEqual(row["predicted_by"], "input-bound")
        self.assertIn("every trial does so again", " ".join(done.stderr.split()))
        subprocess.run(["patch", "-p1", "-i", "t/recipe.patch"], cwd=self.folder, check=True, capture_output=True)
        return (self.folder / "train.py").read_text()

    def test_hugging_face(self):
        need("transformers", "accelerate")
        self.assertIn("        dataloader_num_workers=", self.search(TRAINER))

    def test_lightning(self):
        need("lightning")
        self.assertIn("shuffle=True, num_workers=", self.search(LIGHTNING))


if __name__ == "__main__":
    harness.main()

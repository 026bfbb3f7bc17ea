#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Planted cheats with real PyTorch: each does less work, or measures itself wrongly, and is named."""
import sys

import harness

TRAIN = str(harness.HERE / "programs" / "train.py")

# cheat: (what the comparison says differs, a word of its sentence, the word of --allow).
CHEATS = {
    "skipped-layer": ("operators", "aten::linear", "operators"),
    "cached-output": ("operators over time", "1 time in step 4, never in step 25", "operators"),
    "shorter-sequences": ("batch shapes", "8x16 int64", "batch"),
    "fewer-samples": ("samples", "320 in A, 160 in", "steps"),
    "eval-mode": ("modules in training mode", "none", "mode"),
    "dropout-off": ("operators", "aten::bernoulli_ 1 time in A, never in", "operators"),
    "bfloat16": ("parameter dtypes", "bfloat16", "precision"),
    "other-optimizer": ("optimizer", "SGD", "optimizer"),
}


class Cheats(harness.Case):
    def setUp(self):
        super().setUp()
        self.python = harness.torch_python()

    def arm(self, cheat=""):
        return ["--", self.python, TRAIN, *(["--cheat", cheat] if cheat else [])]

    def test_every_cheat_is_caught_and_an_honest_arm_is_not(self):
        # One pair of many arms: what was done is asked, not how long it took.
        words = [word for cheat in ("", "", *CHEATS, "patched-timer") for word in self.arm(cheat)]
        answer = self.json("--pairs", 1, "--save", "all.json", *words, code=5)
        honest, *cheats, timer = answer["comparisons"]
        self.assertEqual(honest["same_work"]["same"], True, honest["same_work"])
        self.assertIn("operators", honest["same_work"]["equal"])
        self.assertIn("batch content", honest["same_work"]["equal"])
        for comparison, (cheat, (what, word, allow)) in zip(cheats, CHEATS.items()):
            with self.subTest(cheat):
                self.assertEqual(comparison["verdict"], "invalid")
                found = {d["what"]: d for d in comparison["same_work"]["differences"]}
                self.assertIn(what, found)
                self.assertIn(word, found[what]["sentence"])
                self.assertEqual(found[what]["allow"], allow)
                print(f"{cheat}: {found[what]['sentence']}")
        # Our clocks are not the program's: a replaced one is named, and wall time stands.
        self.assertNotEqual(timer["verdict"], "invalid")
        self.assertIn("time.perf_counter", timer["same_work"]["differences"][0]["sentence"])
        # What is meant can be allowed.
        again = self.json("--allow", "optimizer", "all.json", code=5)["comparisons"][len(CHEATS)]
        self.assertEqual(again["verdict"], "cannot tell")
        self.assertTrue(again["same_work"]["differences"][0]["allowed"])

    def test_work_that_another_thread_does_after_the_last_step(self):
        words = ["--pairs", 1, "--metric", "step", *self.arm(), *self.arm("other-thread")]
        answer = self.json(*words, code=5)
        self.assertIn("after its last step", answer["same_work"]["trouble"][0])


class Clock(harness.Case):
    def test_a_replaced_clock_makes_the_programs_own_numbers_invalid(self):
        for name, patch in (("honest.py", ""), ("cheat.py", "time.perf_counter = lambda: clock() / 2")):
            (self.folder / name).write_text(
                "import time\nclock = time.perf_counter\n%s\nbegin = time.perf_counter()\n"
                "sum(range(100000))\nprint('took', time.perf_counter() - begin)\n" % patch)
        arms = [word for name in ("honest.py", "cheat.py") for word in ("--", sys.executable, name)]
        words = ["--pairs", 1, "--metric", "regex:took ([-+.0-9e]+)", *arms]
        answer = self.json(*words, code=5)
        self.assertEqual(answer["verdict"], "invalid")
        self.assertIn("B: the program replaced time.perf_counter",
                      answer["same_work"]["differences"][0]["sentence"])
        self.assertEqual(self.json("--allow", "clock", *words)["verdict"], "cannot tell")


class Steps(harness.Case):
    def test_steps_samples_and_warm_up_of_an_unchanged_program(self):
        python = harness.torch_python()
        command = [python, TRAIN, "--steps", "60", "--unseeded"]
        answer = self.json("--metric", "samples", "--pairs", 2, "--", *command, "--", *command)
        for arm in answer["arms"]:
            for run in arm["runs"]:
                steps = run["steps"]
                self.assertEqual((steps["count"], steps["samples"]), (60, 480))
                self.assertGreaterEqual(steps["warmup"], 10)
                self.assertLessEqual(steps["warmup"], 31)
                self.assertGreater(steps["p99_s"], steps["p50_s"])
                self.assertAlmostEqual(steps["samples_per_s"] * steps["mean_s"], 8, delta=0.01)
                self.assertLess(steps["first_s"], run["wall_s"])
        # Data that differs from run to run of one command says nothing about the other.
        self.assertIn("batch content", answer["same_work"]["not_compared"])
        self.assertNotEqual(answer["verdict"], "invalid")


if __name__ == "__main__":
    harness.main()

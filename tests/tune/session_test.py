#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trial inside a real program with real PyTorch: what is measured, what is put in, and that the program
goes on as it would without. Nothing here depends on how fast the machine is."""
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
PYTHON = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
TRAIN, RANKS = HERE / "programs/train.py", HERE / "programs/ranks.py"
STATES = {"applied", "inert", "not applicable", "failed"}


class Forks:
    """programs/forked.py, started when it is needed first."""
    process = None

    @classmethod
    def run(cls, words, environment, folder):
        if cls.process is None:
            cls.process = subprocess.Popen([PYTHON, str(HERE / "programs/forked.py")], text=True, env=_clean(),
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        request = {"words": words, "environment": environment, "folder": str(folder)}
        print(json.dumps(request), file=cls.process.stdin, flush=True)
        status = int(cls.process.stdout.readline())
        return (folder / "out").read_text(), (folder / "err").read_text(), status


def tearDownModule():
    if Forks.process is not None:
        Forks.process.communicate("")


def _clean():
    """One thread: the same program gives the same numbers to the last bit."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("HONE_") and key != "PYTHONPATH"}
    return dict(environment, OMP_NUM_THREADS="1")


class Ran:
    """A program that was run to its end: out, err, status, and the documents it left (by rank)."""

    def __init__(self, *words, order=None, recipe=None, forked=False, cwd=None):
        words = [str(word) for word in words]
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_tune_"))
        try:
            more = {"PYTHONPATH": str(ROOT / "python/inject")} if order is not None or recipe is not None else {}
            if order is not None:
                full = dict({"version": 1, "recipe": [], "seed_offset": 0, "steps": 0, "seconds": 0.1,
                             "describe": False, "treatments": ""}, **order)
                (folder / "order.json").write_text(json.dumps(full))
                more.update(HONE_BENCH_DIR=str(folder), HONE_TUNE=str(folder / "order.json"))
            elif recipe is not None:
                (folder / "recipe.json").write_text(json.dumps({"version": 1, "recipe": recipe}))
                more.update(HONE_RECIPE=str(folder / "recipe.json"))
            if forked:
                more["HONE_TEST_PYTHON"] = str(ROOT / "python")
                self.out, self.err, self.status = Forks.run(words, more, folder)
            else:
                done = subprocess.run([PYTHON, *words], capture_output=True, text=True, env=dict(_clean(), **more),
                                      cwd=cwd or folder, timeout=240)
                self.out, self.err, self.status = done.stdout, done.stderr, done.returncode
            documents = [json.loads(path.read_text()) for path in folder.glob("tune-*.json")]
            self.documents = sorted(documents, key=lambda one: (not one["losses"], one["rank"]))
            self.probes = [json.loads(path.read_text()) for path in folder.glob("probe-*.json")]
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def document(self):
        return self.documents[0]

    def losses(self):
        return [float(line.split()[1]) for line in self.out.splitlines() if line.startswith("loss ")]

    def effect(self, name):
        (found,) = [one for one in self.document["effects"] if one["treatment"] == name]
        return found


def choice(treatment, **options):
    return {"treatment": treatment, "options": options}


WORKERS = choice("loader-workers", num_workers=2, persistent_workers=True, prefetch_factor=4)


class Case(unittest.TestCase):
    _kept = {}

    def setUp(self):
        if not os.access(PYTHON, os.X_OK):
            self.skipTest(f"no PyTorch: {PYTHON} is not there (tools/install_torch)")

    def ran(self, *words, status=0, forked=True, **order):
        """Runs train.py in a trial; what was asked for before is not run again."""
        key = repr((words, order, forked))
        if key not in Case._kept:
            Case._kept[key] = Ran(TRAIN, *words, order=order, forked=forked)
        ran = Case._kept[key]
        self.assertEqual(ran.status, status, ran.out + ran.err)
        self.assertNotIn("trouble", ran.document, ran.document.get("trouble"))
        for probe in ran.probes:
            self.assertNotIn("trouble", probe)
        return ran


class Measuring(Case):
    def test_the_program_is_as_it_is_without(self):
        bare = Ran(TRAIN, "--seed", 7)
        ran = self.ran("--seed", 7, steps=1000, describe=True, forked=False)
        self.assertEqual((ran.out, ran.err, ran.status), (bare.out, bare.err, 0))
        document = ran.document
        self.assertEqual((document["ended"], document["exception"]), ("exit", None))
        for told, printed in zip(document["losses"], ran.losses()):
            self.assertAlmostEqual(told, printed, delta=1e-7)
        self.assertEqual(len(document["losses"]), 24)
        self.assertEqual([step for step, _ in document["gradient_norms"]], [1, 2, 3, 5, 10, 20])
        self.assertTrue(all(norm > 0 for _, norm in document["gradient_norms"]))
        batches = document["batches"]
        self.assertEqual((batches["count"], batches["random"]), (24, False))
        self.assertAlmostEqual(batches["stdev"], 1, delta=0.2)
        self.assertEqual((document["device"], document["world"], document["recompiles"]), ("cpu", 1, 0))

    def test_what_can_be_tried_is_described(self):
        ran = self.ran("--seed", 7, steps=1000, describe=True, forked=False)
        found = {one["treatment"]: one for one in ran.document["candidates"]}
        workers = found["loader-workers"]
        line = TRAIN.read_text().splitlines()[int(workers["where"].rpartition(":")[2]) - 1]
        self.assertIn("DataLoader(dataset()", line)
        self.assertIn("num_workers=", workers["code"])
        self.assertEqual((workers["risk"], found["batch-size"]["risk"]), ("exact", "optimization"))
        why = {one["treatment"]: one["why"] for one in ran.document["inapplicable"]}
        self.assertIn("CPU", why["pinned-memory"])

    def test_it_is_left_after_the_steps_that_were_asked_for(self):
        whole = self.ran("--seed", 7, steps=1000, describe=True)
        ran = self.ran("--seed", 7, steps=10, recipe=[WORKERS], forked=False)
        self.assertEqual(ran.out, whole.out[:len(ran.out)])
        # Two workers have eight batches ready when the first step has taken its time: those come on top.
        self.assertEqual((len(ran.losses()), len(ran.document["losses"])), (18, 18))
        self.assertEqual(ran.document["batches"]["count"], 10)
        self.assertEqual((ran.document["ended"], ran.err), ("steps", ""))
        (probe,) = [one for one in ran.probes if one["steps_ns"]]
        self.assertEqual((probe["source"], len(probe["steps_ns"]), probe["stock"]), ("optimizer", 18, 8))

    def test_an_evaluation_before_the_training_is_not_what_was_asked_for(self):
        ran = self.ran("--seed", 7, "--evaluate", steps=6)
        self.assertEqual((ran.document["ended"], len(ran.document["losses"])), ("steps", 6))
        self.assertEqual(len(ran.losses()), 6)

    def test_the_first_run_is_left_when_it_was_steady_for_long_enough(self):
        ran = self.ran("--seed", 7, "--steps", 100000, seconds=0.2)
        self.assertEqual(ran.document["ended"], "steps")
        self.assertGreaterEqual(len(ran.document["losses"]), 30)
        self.assertEqual(ran.document["batches"]["count"], min(64, len(ran.document["losses"])))

    def test_the_first_run_goes_on_for_the_guard_where_that_takes_no_time(self):
        ran = self.ran("--seed", 7, "--steps", 100000, seconds=0.01, guard_steps=66, guard_s=1000)
        self.assertEqual(len(ran.document["losses"]), 66)
        ran = self.ran("--seed", 7, "--steps", 100000, seconds=0.01, guard_steps=66, guard_s=0)
        self.assertLess(len(ran.document["losses"]), 66)

    def test_looked_at_are_the_first_run_and_comparisons(self):
        for order, looks in (({"compared": True}, [3, 24]), ({"describe": True}, [3]), ({}, [])):
            ran = self.ran("--seed", 7, "--steps", 100000, steps=30, **order)
            (probe,) = [one for one in ran.probes if one["steps_ns"]]
            self.assertEqual(probe["looked"], looks, order)

    def test_the_run_for_the_doctor_is_left_and_nothing_else(self):
        for words in ((), ("--evaluate",)):
            ran = Ran(TRAIN, "--seed", 7, "--steps", 100000, *words, order={"recorded": True})
            self.assertEqual((ran.status, ran.err, ran.documents), (0, "", []))
            (probe,) = [one for one in ran.probes if one["steps_ns"]]
            self.assertEqual((probe["looked"], probe["edges"], probe["source"]), ([], [], "optimizer"))
            self.assertGreaterEqual(len(probe["steps_ns"]), 30)
            self.assertLess(len(probe["steps_ns"]), 100000)

    def test_seeds(self):
        first, again = self.ran(steps=6), self.ran(steps=6, seconds=0.3)
        other = self.ran(steps=6, seed_offset=1)
        self.assertEqual(first.out, again.out)
        drawn = [ran.out.splitlines()[0].split()[1:] for ran in (first, other)]
        self.assertTrue(all(a != b for a, b in zip(*drawn)), drawn)
        self.assertNotEqual(first.document["batches"]["order"], other.document["batches"]["order"])
        # The program's own seed is moved as well.
        own = self.ran("--seed", 7, steps=10, recipe=[WORKERS])
        moved = self.ran("--seed", 6, steps=6, seed_offset=1)
        self.assertEqual(moved.losses(), own.losses()[:6])

    def test_exceptions(self):
        for word, kind, name in (("memory", "oom", "MemoryError"), ("host", "oom", "RuntimeError"),
                                 ("device", "oom", "torch.OutOfMemoryError"), ("value", "error", "ValueError")):
            with self.subTest(word):
                ran = self.ran("--fail", word, status=1, steps=1000)
                told = ran.document["exception"]
                self.assertEqual((told["class"], told["type"]), (kind, name))
                self.assertEqual(ran.document["ended"], "exception")
                self.assertEqual(len(ran.document["losses"]), 4)
                line = int(told["where"].rpartition(":")[2])
                self.assertIn(word, "\n".join(TRAIN.read_text().splitlines()[line - 2:line]))
                self.assertNotIn("\n", told["message"])
                self.assertIn(told["message"], ran.err)

    def test_ends_of_its_own(self):
        for word, status in (("exit", 3), ("_exit", 4)):
            ran = self.ran("--fail", word, status=status, steps=1000)
            self.assertEqual((ran.document["ended"], ran.document["exception"]), ("exit", None))
            self.assertEqual(len(ran.document["losses"]), 4)

    def test_a_program_that_never_steps(self):
        ran = Ran("-c", "import torch; print(torch.ones(2).sum().item()); raise SystemExit(5)",
                  order={"describe": True})
        self.assertEqual((ran.status, ran.out), (5, "2.0\n"))
        self.assertEqual((ran.document["losses"], ran.document["batches"]), ([], None))
        self.assertNotIn("trouble", ran.document)


class Loaders(Case):
    def same(self, one, other, *names):
        for name in names:
            self.assertEqual(one.document["batches"][name], other.document["batches"][name], name)

    def test_workers_give_the_same_batches(self):
        # Three epochs, shuffled; workers that stay and workers that do not.
        bare = self.ran("--seed", 7, steps=1000, describe=True)
        for persistent in (True, False):
            recipe = [choice("loader-workers", num_workers=2, persistent_workers=persistent, prefetch_factor=4)]
            ran = self.ran("--seed", 7, steps=1000, recipe=recipe)
            self.assertEqual(ran.effect("loader-workers")["state"], "applied")
            self.assertIn("workers 2", ran.out)
            self.same(ran, bare, "count", "order", "labels", "content", "random")
            self.assertEqual(ran.losses(), bare.losses())

    def test_numbers_that_the_training_draws_are_as_before_and_the_line_says_that_they_would_not_be(self):
        bare = self.ran("--dropout", "--seed", 7, steps=1000, describe=True)
        ran = self.ran("--dropout", "--seed", 7, steps=1000, recipe=[WORKERS])
        self.assertEqual(ran.losses(), bare.losses())
        words = "from the second epoch on other random numbers (dropout, noise) than before"

        def said(ran):
            return [words in one["code"] for one in ran.document["candidates"] if one["treatment"] == "loader-workers"]

        self.assertEqual(set(said(bare)), {True})
        self.assertEqual(set(said(self.ran("--seed", 7, steps=1000, describe=True))), {False}, "it draws nothing")

    def test_random_items_are_told_and_keep_their_order(self):
        bare = self.ran("--data", "random", steps=12, describe=True)
        ran = self.ran("--data", "random", steps=12, recipe=[WORKERS])
        self.assertTrue(bare.document["batches"]["random"] and ran.document["batches"]["random"])
        self.assertFalse(bare.document["batches"]["random_labels"])
        relabelled = self.ran("--data", "relabelled", steps=12).document["batches"]
        self.assertTrue(relabelled["random"] and relabelled["random_labels"])
        # Items no longer draw in the training process: the next epoch is shuffled otherwise, the first is not.
        self.same(ran, bare, "count", "order", "labels")
        self.assertNotEqual(ran.document["batches"]["content"], bare.document["batches"]["content"])
        self.assertAlmostEqual(ran.document["batches"]["stdev"], bare.document["batches"]["stdev"], delta=0.01)

    def test_streams(self):
        bare = self.ran("--data", "stream", steps=12, describe=True)
        self.assertEqual([one["options"]["num_workers"] for one in bare.document["candidates"]
                          if one["treatment"] == "loader-workers"], [1])
        self.assertEqual(bare.document["batches"]["order"], "")
        ran = self.ran("--data", "stream", steps=12, recipe=[WORKERS])
        self.assertEqual(ran.effect("loader-workers")["state"], "not applicable")
        self.assertIn("each of 2 workers would give all of it", ran.effect("loader-workers")["why"])
        self.assertEqual(ran.out, bare.out)
        one = self.ran("--data", "stream", steps=12, recipe=[choice("loader-workers", num_workers=1)])
        self.assertEqual(one.effect("loader-workers")["state"], "applied")
        self.same(one, bare, "labels", "content")
        shared = self.ran("--data", "shared", steps=12, recipe=[WORKERS])
        self.assertEqual(shared.effect("loader-workers")["state"], "applied")

    def test_what_cannot_be_pickled_is_for_forked_workers_only(self):
        ran = self.ran("--data", "lambda", "--spawn", steps=1000, recipe=[WORKERS])
        self.assertEqual(ran.effect("loader-workers")["state"], "not applicable")
        self.assertIn("lambda", ran.effect("loader-workers")["why"])
        self.assertIn("workers 0", ran.out)


class Effects(Case):
    THREADS = choice("intra-op-threads", threads=2)
    MEMORY = choice("allocator-settings", kind="glibc")
    CPUS = choice("cpu-affinity", cpus=str(min(os.sched_getaffinity(0))))
    COPIES = choice("non-blocking-copies")
    PINNED = choice("pinned-memory")
    NODE = choice("numa-binding", cpus="0-4095", node=0)

    def test_applied_and_not_applicable(self):
        recipe = [WORKERS, self.THREADS, self.MEMORY, self.CPUS, self.COPIES, self.PINNED, self.NODE]
        ran = self.ran("--seed", 7, recipe=recipe, steps=1000)
        several = len(os.sched_getaffinity(0)) > 1
        for name in ("loader-workers", "intra-op-threads", "allocator-settings",
                     *(["cpu-affinity"] if several else [])):
            self.assertEqual(ran.effect(name)["state"], "applied", ran.effect(name))
            self.assertGreaterEqual(ran.effect(name)["hits"], 1)
        for name in ("non-blocking-copies", "pinned-memory"):
            self.assertEqual(ran.effect(name)["state"], "not applicable", ran.effect(name))
            self.assertIn("no CUDA device", ran.effect(name)["why"])
        self.assertIn(ran.effect("numa-binding")["state"], STATES - {"failed"})
        self.assertIn("threads 2 workers 2", ran.out)

    def test_inert_where_the_program_does_it_itself(self):
        ran = self.ran("--seed", 7, "--own", recipe=[WORKERS, self.THREADS, self.CPUS], steps=1000)
        for name in ("loader-workers", "intra-op-threads", "cpu-affinity"):
            self.assertEqual(ran.effect(name)["state"], "inert", ran.effect(name))
            self.assertTrue(ran.effect(name)["why"])
        self.assertIn("threads 1 workers 1", ran.out)

    def test_failed_and_the_program_goes_on_untreated(self):
        bare = self.ran("--seed", 7, steps=1000, describe=True)
        wrong = choice("loader-workers", num_workers=2, prefetch_factor=-3)
        ran = self.ran("--seed", 7, recipe=[wrong, choice("no-such-thing"), choice("intra-op-threads", threads="x")],
                       steps=1000)
        for name in ("loader-workers", "no-such-thing", "intra-op-threads"):
            self.assertEqual((ran.effect(name)["state"], ran.effect(name)["hits"]), ("failed", 0), ran.effect(name))
        self.assertEqual(ran.out, bare.out)

    def test_gathered_gradients_are_those_of_the_whole_batch(self):
        for words in ((), ("--clip",), ("--closure",)):
            bare = self.ran("--seed", 7, *words, steps=12)
            ran = self.ran("--seed", 7, *words, steps=12,
                           recipe=[choice("batch-size", **{"from": 8, "batch_size": 4, "accumulate": 2})])
            self.assertEqual(ran.effect("batch-size")["state"], "applied")
            self.assertEqual(len(ran.losses()), 24)
            for name in ("losses", "gradient_norms"):
                for one, other in zip(ran.document[name], bare.document[name]):
                    one, other = (one, other) if name == "losses" else (one[1], other[1])
                    self.assertAlmostEqual(one, other, delta=2e-5)
            (probe,) = [one for one in ran.probes if one["steps_ns"]]
            self.assertEqual(probe["samples"][-1] - probe["samples"][0], 11 * 8)
        larger = self.ran("--seed", 7, steps=6, recipe=[choice("batch-size", **{"from": 8, "batch_size": 16})])
        (probe,) = [one for one in larger.probes if one["steps_ns"]]
        self.assertEqual(probe["samples"][-1] - probe["samples"][0], 5 * 16)

    def test_treatments_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "wrong_labels.py").write_text(
                "from hone.treatments import Treatment, Unfit\n"
                "class Wrong(Treatment):\n"
                "    name, title = 'wrong-labels', 'wrong'\n"
                "    @classmethod\n"
                "    def variants(cls, seen): return [({}, cls.title)]\n"
                "    @classmethod\n"
                "    def code(cls, seen, options): return ''\n"
                "    def root(self, module):\n"
                "        self.session.wrap_forward(module, lambda call, args, kwargs: call(*args) * 0)\n"
                "        self.hit()\n"
                "TREATMENT = Wrong\n")
            ran = self.ran("--seed", 7, steps=6, describe=True, treatments=folder, recipe=[choice("wrong-labels")])
            self.assertEqual(ran.effect("wrong-labels")["state"], "applied")
            self.assertIn("wrong-labels", [one["treatment"] for one in ran.document["candidates"]])
            self.assertAlmostEqual(ran.document["losses"][5], 1.0986123, delta=1e-6)  # ln 3: it knows nothing


class Recipes(Case):
    def test_by_the_environment_and_by_the_program(self):
        recipe = [WORKERS, Effects.THREADS, choice("batch-size", **{"from": 8, "batch_size": 4, "accumulate": 2})]
        bare = self.ran("--seed", 7, steps=12)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "recipe.json")
            path.write_text(json.dumps({"version": 1, "recipe": recipe}))
            runs = [Ran(TRAIN, "--seed", 7, recipe=recipe)]
            runs += [Ran(TRAIN, "--seed", 7, "--apply", f"{when}:{path}", recipe=[]) for when in ("early", "late")]
        for ran in runs:
            self.assertEqual(ran.status, 0, ran.err)
            self.assertIn("threads 2 workers 2 batch 4", ran.out)
            self.assertEqual(ran.documents, [])
            pairs = ran.losses()
            for index in range(12):  # the same training, in parts of four
                mean = (pairs[2 * index] + pairs[2 * index + 1]) / 2
                self.assertAlmostEqual(mean, bare.losses()[index], delta=2e-5)


class Ranks(Case):
    def test_ranks_leave_together(self):
        ran = Ran("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", RANKS, order={"steps": 12})
        self.assertEqual(ran.status, 0, ran.err)
        ranks = [one for one in ran.documents if one["losses"]]
        self.assertEqual([one["rank"] for one in ranks], [0, 1])
        for one in ranks:
            self.assertEqual((one["ended"], one["world"], len(one["losses"])), ("steps", 2, 12))
            self.assertEqual(one["samples_per_step"], 4)
        self.assertEqual(ran.out.splitlines()[-1], "step 10")
        self.assertNotIn("Error", ran.err)


if __name__ == "__main__":
    harness.main()

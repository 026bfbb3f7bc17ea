#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What treatments of loaders, memory and threads offer for a run that was seen so and so. Without PyTorch."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

from hone import _advice, _source, treatments  # noqa: E402
from hone._seen import Copies, Loader, Optimizer, Reads, Seen  # noqa: E402
from hone.treatments import _cpus  # noqa: E402


def seen(**facts):
    loader = {name: facts.pop(name) for name in list(facts) if hasattr(Loader, name) and name != "device"}
    facts.setdefault("loaders", [Loader(**dict(dict(batches=30, batch_size=8, site="train.py:9"), **loader))])
    return Seen(**dict(dict(cores=16, steps=30), **facts))


class Variants(unittest.TestCase):
    def options(self, name, what):
        return [options for options, _ in treatments.load(name).variants(what)]

    def unfit(self, name, what, words):
        with self.assertRaises(treatments.Unfit) as raised:
            treatments.load(name).variants(what)
        self.assertIn(words, str(raised.exception))

    def test_workers_leave_a_core_to_the_training(self):
        for cores, world, counts in ((16, 1, {4, 8, 12, 15}), (64, 1, {4, 8, 12, 16}), (2, 1, {2}), (1, 1, {2}),
                                     (8, 2, {3}), (4, 1, {3})):
            found = self.options("loader-workers", seen(cores=cores, local_world=world))
            self.assertEqual({one["num_workers"] for one in found}, counts, cores)
        self.assertEqual(self.options("loader-workers", seen())[0]["num_workers"], 12)

    def test_workers_where_they_must_not_be(self):
        self.unfit("loader-workers", seen(arguments={"num_workers": 2}), "num_workers=2 already")
        self.unfit("loader-workers", seen(loaders=[]), "no DataLoader")
        self.unfit("loader-workers", seen(why_not="it cannot be sent"), "it cannot be sent")
        self.unfit("loader-workers", Seen(cores=8, loaders=[Loader(batches=3, device="cuda")]), "cuda already")
        streams = self.options("loader-workers", seen(iterable=True))
        self.assertEqual([one["num_workers"] for one in streams], [1])

    def test_what_workers_are_worth_follows_the_wait(self):
        kind = treatments.load("loader-workers")
        half = kind.expect(seen(wait_share=0.5), {"num_workers": 12})
        self.assertGreater(half, 1.7)
        self.assertLess(kind.expect(seen(wait_share=0.01), {"num_workers": 12}), 1.02)
        # Two workers halve the wait for data; twelve leave what is no wait.
        for workers, most in ((2, 1 / 0.45), (12, 1 / 0.1)):
            self.assertAlmostEqual(kind.at_most(seen(wait_share=0.9), {"num_workers": workers}), most)
        self.assertIsNone(kind.at_most(seen(), {"num_workers": 2}))

    def test_a_larger_batch_takes_longer(self):
        kind = treatments.load("batch-size")
        what = seen(step_s=0.1)
        self.assertAlmostEqual(kind.extra(what, {"from": 8, "batch_size": 32}), 3 * 30 * 0.1)
        self.assertEqual(kind.extra(what, {"from": 8, "batch_size": 4, "accumulate": 2}), 0)

    def test_pinned_memory_and_copies(self):
        self.unfit("pinned-memory", seen(), "on the CPU")
        self.unfit("pinned-memory", seen(device="cuda", arguments={"pin_memory": True}), "already")
        self.assertEqual(self.options("pinned-memory", seen(device="cuda")), [{}])
        self.unfit("non-blocking-copies", seen(device="cuda"), "no copy")
        self.unfit("non-blocking-copies", seen(device="cuda", copies=Copies(total=9)), "already")
        pageable = Copies(total=9, pageable=9)
        self.unfit("non-blocking-copies", seen(device="cuda", copies=pageable, loaders=[]), "pageable")
        blocking = Copies(total=9, blocking=9)
        self.assertEqual(self.options("non-blocking-copies", seen(device="cuda", copies=blocking)), [{}])

    def test_memory(self):
        self.assertEqual(self.options("allocator-settings", seen(device="cuda")), [{"kind": "cuda"}])
        given = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
        self.unfit("allocator-settings", seen(device="cuda", environment=given), "cudaMallocAsync")
        preloaded = {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}
        self.unfit("allocator-settings", seen(environment=preloaded), "jemalloc")

    def test_threads(self):
        self.unfit("intra-op-threads", seen(device="cuda"), "cuda")
        self.unfit("intra-op-threads", seen(environment={"OMP_NUM_THREADS": "4"}), "OMP_NUM_THREADS=4")
        self.assertIn({"threads": 1}, self.options("intra-op-threads", seen(threads=16)))
        # torchrun gives each rank one thread; its share of the cores is offered.
        ranks = seen(threads=1, world=2, local_world=2, environment={"OMP_NUM_THREADS": "1"})
        self.assertIn({"threads": 8}, self.options("intra-op-threads", ranks))

    def test_batches(self):
        one = [Optimizer(kind="Adam")]
        sizes = [options["batch_size"] for options in self.options(
            "batch-size", seen(length=256, optimizers=one, backwards_per_step=1.0))]
        self.assertEqual(sizes, [16, 24, 32, 48, 64, 4, 2])  # 4 batches an epoch at least; then in parts
        scaled = seen(length=256, optimizers=one, backwards_per_step=1.0, scaler_used=True)
        self.assertEqual(len(self.options("batch-size", scaled)), 5)
        between = treatments.load("batch-size").between
        self.assertEqual([size for size in sizes if between({"from": 8, "batch_size": size})], [24, 48])
        self.unfit("batch-size", seen(loaders=[]), "--batch-flag")
        self.unfit("batch-size", seen(arguments={"batch_sampler": "Own"}, batch_size=None), "--batch-flag")

    def test_every_treatment_declares_itself(self):
        for kind in treatments.all_kinds():
            with self.subTest(kind.name):
                self.assertNotIsInstance(kind, treatments.Broken)
                self.assertIn(kind.risk, ("exact", "numeric", "optimization"))
                self.assertIn(kind.name.replace("-", "_"), treatments.NAMES)
                self.assertTrue(kind.title)


class Later(unittest.TestCase):
    """Whether numbers may be read later, by what the source says of them."""

    unfit = Variants.unfit

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone_conditions_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(setattr, _source._sites, "_cwd", _source._sites._cwd)
        _source._sites._cwd = self.folder
        _source._sources.clear()

    def seen(self, text, **facts):
        """A run of a program that reads on all lines with .item()."""
        path = os.path.join(self.folder, "train.py")
        pathlib.Path(path).write_text(textwrap.dedent(text))
        _source._sources.clear()
        reads = [Reads(site="train.py:%d" % (number + 1), how="item", count=5, **facts)
                 for number, line in enumerate(textwrap.dedent(text).split("\n")) if ".item()" in line]
        return Seen(device="cuda", steps=40, reads=reads, scripts=[path])

    def offered(self, text):
        seen = self.seen(text)
        kind = treatments.load("deferred-logging")
        self.assertEqual([options for options, _ in kind.variants(seen)], [{}])
        self.assertEqual(_advice.advice(seen), [])
        return kind, seen

    def refused(self, text, words, **facts):
        seen = self.seen(text, **facts)
        self.unfit("deferred-logging", seen, words)
        self.assertEqual([one["title"] for one in _advice.advice(seen)], ["read the loss every so many steps"])

    def test_offered(self):
        kind, seen = self.offered("for x in data:\n    total += loss.item() * 8\n")
        self.assertEqual(kind.where(seen), "train.py:2")
        self.assertEqual(kind.code(seen, {}),
                         "total = total + loss.detach().double() * 8  # float(...) where the number is used")
        self.offered("losses.append(loss.item())")
        self.offered("meter.update(loss.item(), 8)")
        kind, seen = self.offered("log(loss.item())")
        self.assertIn("total = total + ", kind.code(seen, {}))

    def test_nothing_to_read(self):
        read = Reads(site="train.py:1", how="item", count=5)
        self.unfit("deferred-logging", Seen(device="cpu", steps=40, reads=[read]), "on the CPU")
        self.unfit("deferred-logging", Seen(device="cuda", steps=40), "no number")
        self.unfit("deferred-logging", Seen(device="cuda", steps=2, reads=[read]), "no number")
        self.refused("total += loss.item()", "a library reads the number", own=False)
        self.refused("total += flag.item()", "a yes or no", dtype="bool")
        read.how = "tolist"
        self.unfit("deferred-logging", Seen(device="cuda", steps=40, reads=[read]), "only .item() can")

    def test_used_at_once(self):
        for line in ("print(loss.item())", "print(f'{loss.item():.3f}')", "text = '%.3f' % loss.item()",
                     "best = min(best, loss.item())", "bar.set_postfix(loss=loss.item())", "x = float(loss.item())",
                     "while loss.item() > 3: pass", "ok = loss.item() < 3", "if loss.item(): pass"):
            self.refused(line, "train.py:1 uses the number at once")

    def test_what_takes_no_such_number(self):
        """Followed through assignments, containers, calls and returns."""
        self.refused("""\
            import json

            class Meter:
                def update(self, value, count=1):
                    self.total += value * count

                @property
                def avg(self):
                    return self.total / self.count

            def epoch(meter):
                for x in data:
                    meter.update(loss.item(), 8)
                return {"loss": meter.avg}

            result = epoch(Meter())
            history.append(result)
            json.dump(history, open("out.json", "w"), indent=2)
            """, "train.py:18 gives the number to json")
        self.refused("from json import dumps\nx = loss.item()\ny = [x]\ndumps(y)",
                     "train.py:4 gives the number to json")
        self.refused("import wandb\nx += loss.item()\nwandb.log(dict(loss=x))", "train.py:3 gives the number to wandb")
        self.refused("from transformers import Trainer\nself.log({'a': loss.item()})", "number to transformers")
        self.refused("x += loss.item()\ntorch.tensor([x], device=0)", "train.py:2 gives the number to torch.tensor")
        self.refused("x = loss.item()\nif type(x) is float: pass", "very type")
        self.refused("x += loss.item()\nbuffer.copy_(y, non_blocking=True)", "without waiting")
        self.refused("x += loss.item()\ny.to('cpu', non_blocking=True)", "without waiting")

    def test_what_is_made_plain_before(self):
        self.offered("import json\ntotal += loss.item()\njson.dump({'a': float(total)}, f)\njson.dump(vars(args), f)\n")
        self.offered("x = loss.item()\nprint(json.dumps(f'{x:.3f}'))\ntorch.tensor([x], dtype=torch.float32)\n")
        self.offered("x = loss.item()\ny.to(device, non_blocking=True)\ntorch.tensor(labels)\n")


class Cpus(unittest.TestCase):
    def test_lists(self):
        self.assertEqual(_cpus.parsed("0-3,8\n"), [0, 1, 2, 3, 8])
        self.assertEqual(_cpus.told([8, 0, 1, 2, 3]), "0-3,8")


class Advice(unittest.TestCase):
    def test_a_loss_that_is_read_every_step(self):
        read = Reads(site="train.py:31", how="tolist", count=5)
        (one,) = _advice.advice(Seen(device="cuda", steps=40, reads=[read]))
        self.assertEqual(one["where"], "train.py:31")
        self.assertIn("5 times in the first 5 steps", one["why"])
        self.assertEqual(_advice.advice(Seen(device="cpu", steps=40, reads=[read])), [])
        read.how = "item"  # a treatment's
        self.assertEqual(_advice.advice(Seen(device="cuda", steps=40, reads=[read])), [])
        other = Reads(site="train.py:40", how="__float__", count=5)
        (one,) = _advice.advice(Seen(device="cuda", steps=40, reads=[read, other]))
        self.assertEqual(one["where"], "train.py:40")
        other.count = 1
        self.assertEqual(_advice.advice(Seen(device="cuda", steps=40, reads=[read, other])), [])

    def test_attention_of_its_own(self):
        own = {"aten::softmax": 4, "aten::bmm": 8}
        self.assertEqual([one["title"] for one in _advice.advice(Seen(operators=own))], ["attention in one operator"])
        self.assertNotIn("is_causal=True)", _advice.advice(Seen(operators=own))[0]["code"])  # not for encoders
        self.assertEqual(_advice.advice(Seen(operators={"aten::softmax": 4, "aten::bmm": 3})), [])
        self.assertEqual(_advice.advice(Seen(operators=dict(own, **{"aten::scaled_dot_product_attention": 1}))), [])

    def test_attention_of_pytorchs_own_layer_is_nobodys_to_rewrite(self):
        layer = type("MultiheadAttention", (), {"__module__": "torch.nn.modules.activation"})
        model = types.SimpleNamespace(modules=lambda: [layer()])
        seen = Seen(operators={"aten::softmax": 4, "aten::bmm": 8}, roots=[types.SimpleNamespace(module=model)])
        self.assertEqual(_advice.advice(seen), [])

    def test_a_full_device_beside_free_ones(self):
        full = dict(device="cuda", device_bytes=100, peak_device_bytes=95)
        self.assertEqual(len(_advice.advice(Seen(device_count=2, **full))), 1)
        self.assertEqual(_advice.advice(Seen(device_count=1, **full)), [])
        self.assertEqual(_advice.advice(Seen(device_count=2, world=2, **full)), [])


class Ordinary(unittest.TestCase):
    def test_a_run_without_an_order_loads_none_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("HONE_")}
            environment.update(HONE_BENCH_DIR=folder, PYTHONPATH=str(ROOT / "python/inject"))
            words = "import sys; print(*sorted(name for name in sys.modules if name.startswith('_hone')))"
            done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, env=environment)
        self.assertEqual(done.stdout.split(), ["_hone", "_hone._bench", "_hone._import_hook", "_hone._library",
                                               "_hone._start"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

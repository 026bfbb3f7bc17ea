#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Patches: the text of the diff, that it applies, and that the patched program does what the treatment does."""
import ast
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

import harness

harness.need_torch()

import torch  # noqa: E402

from hone import _patch, _seen, _source, treatments  # noqa: E402

PROGRAMS = harness.HERE / "programs"


class Patch(harness.Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_patch_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        before = _source._sites._cwd
        _source._sites._cwd = str(self.folder)
        self.addCleanup(setattr, _source._sites, "_cwd", before)
        _source._sources.clear()

    def program(self, name):
        shutil.copy(PROGRAMS / name, self.folder)
        return name

    def write(self, text, name="train.py"):
        data = textwrap.dedent(text) if isinstance(text, str) else text
        (self.folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return name

    def line(self, name, words):
        lines = (self.folder / name).read_text().split("\n")
        return "%s:%d" % (name, 1 + next(i for i, line in enumerate(lines) if words in line))

    def apply(self, diff):
        done = subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=self.folder, input=diff.encode(),
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode() + diff)

    def run_program(self, name):
        """Runs the file in this process; its names."""
        space = {"__name__": "program"}
        path = self.folder / name
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(path.read_text(), str(path), "exec"), space)
        return space

    def body(self, diff):
        return "".join(line + "\n" for line in diff.split("\n")
                       if line.startswith(("+", "-", "#")) and line[:3] not in ("+++", "---"))


class Programs(Patch):
    def images_seen(self):
        name = self.program("images.py")
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3))
        self.model = model
        return name, _seen.Seen(
            scripts=[str(self.folder / name)], device="cpu",
            optimizers=[_seen.Optimizer(
                kind="Adam", arguments={"lr": 1e-3, "foreach": False}, defaults={"foreach": False},
                site=self.line(name, "opt = "), dtypes={"float32"}, devices={"cpu"})],
            roots=[_seen.Root(kind="Net", module=model, site=self.line(name, "model(x)"), name="model",
                              input_shapes={((8, 3, 8, 8),)}, output="tensor")], set_to_none_off=4)

    def test_images(self):
        name, seen = self.images_seen()
        recipe = ("tf32", "cudnn-benchmark", "channels-last", "bf16-autocast", "fused-optimizer", "set-to-none",
                  "compile-default")
        edits = [edit for one in recipe for edit in treatments.load(one).edits(seen, {})]
        diff = _patch.unified(edits)
        self.assertEqual(self.body(diff), """\
+
+torch.set_float32_matmul_precision("high")
+torch.backends.cudnn.benchmark = True
-    opt = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)  # slow on purpose
+    model.to(memory_format=torch.channels_last)
+    model.compile()
+    opt = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)  # slow on purpose
-        opt.zero_grad(set_to_none=False)
-        loss = F.cross_entropy(model(x), y)
+        opt.zero_grad(set_to_none=True)
+        x = x.to(memory_format=torch.channels_last)
+        with torch.autocast("cpu", dtype=torch.bfloat16):
+            loss = F.cross_entropy(model(x).float(), y)
""")
        self.assertTrue(diff.startswith("--- a/images.py\n+++ b/images.py\n"), diff)
        self.apply(diff)

    def test_images_has_the_effect(self):
        name, seen = self.images_seen()
        recipe = ("channels-last", "bf16-autocast", "fused-optimizer", "set-to-none")
        edits = [edit for one in recipe for edit in treatments.load(one).edits(seen, {})]
        found = {}
        plain = self.run_program(name)
        plain.update(report=found.update, print=found.setdefault)
        plain["main"]()
        self.assertFalse(found["opt"].defaults["fused"])
        self.apply(_patch.unified(edits))
        treated = self.run_program(name)
        treated.update(report=found.update, print=found.setdefault)
        treated["main"]()
        self.assertTrue(found["opt"].defaults["fused"])
        self.assertTrue(found["model"].conv.weight.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(found["x"].is_contiguous(memory_format=torch.channels_last))

    def test_narrow(self):
        name = self.program("narrow.py")
        model = torch.nn.Linear(2, 2)
        seen = _seen.Seen(
            scripts=[str(self.folder / name)], device="cpu",
            optimizers=[_seen.Optimizer(kind="SGD", arguments={"lr": 0.1}, defaults={"foreach": None},
                                        site=self.line(name, "opt = "), dtypes={"float32"}, devices={"cpu"})],
            roots=[_seen.Root(kind="Sequential", module=model, site=self.line(name, "model(x)"), name="model",
                              output="tensor")])
        edits = [edit for one in ("tf32", "bf16-autocast", "fused-optimizer", "compile-default")
                 for edit in treatments.load(one).edits(seen, {})]
        diff = _patch.unified(edits)
        self.assertEqual(self.body(diff), """\
+import torch
+
+torch.set_float32_matmul_precision("high")
+model.compile()
+    fused=True,
-	model(x).square().mean().backward()  # a tab
+	with torch.autocast("cpu", dtype=torch.bfloat16):
+		loss = model(x).float().square().mean()
+	loss.backward()  # a tab
""")
        self.apply(_patch.unified([edit for edit in edits if edit.text != "model.compile()"]))
        self.addCleanup(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        space = self.run_program(name)
        self.assertTrue(space["opt"].defaults["fused"])
        self.assertEqual(space["loss"].dtype, torch.float32)
        self.assertEqual(torch.get_float32_matmul_precision(), "high")

    def test_classes(self):
        name = self.program("classes.py")
        space = self.run_program(name)
        seen = _seen.Seen(
            scripts=[str(self.folder / name)], device="cpu",
            optimizers=[_seen.Optimizer(kind="AdamW", arguments={"lr": 0.1}, defaults={"foreach": None},
                                        site=self.line(name, "Optimizer(self"), dtypes={"float32"}, devices={"cpu"})],
            roots=[_seen.Root(kind="Sequential", module=space["trainer"].net, site=self.line(name, "self.net("),
                              name="self.net")])
        edits = [edit for one in ("bf16-autocast", "fused-optimizer", "compile-regional")
                 for edit in treatments.load(one).edits(seen, {})]
        self.assertEqual(self.body(_patch.unified(edits)), """\
-        self.optimizer = Optimizer(self.net.parameters(), 1e-2)
+        for block in self.net.modules():
+            if type(block).__name__ == "Block":
+                block.compile()
+        self.optimizer = Optimizer(self.net.parameters(), 1e-2, fused=True)
-        output = self.net(
-            x)  # the whole of it
-        loss = (output - y).abs().mean()
+        with torch.autocast("cpu", dtype=torch.bfloat16):
+            output = self.net(
+                x)  # the whole of it
+            loss = (output - y).abs().mean()
""")
        self.apply(_patch.unified(edits[:2]))
        self.assertTrue(self.run_program(name)["trainer"].optimizer.defaults["fused"])


class Edits(Patch):
    def body_of(self, *edits):
        return self.body(_patch.unified(edits))

    def test_keywords_of_several_edits_come_together(self):
        name = self.write("loader = DataLoader()\n")
        self.assertEqual(self.body_of(_patch.add_keywords("train.py:1", "DataLoader", {"num_workers": "8"}),
                                      _patch.add_keywords("train.py:1", "DataLoader", {"pin_memory": "True"})),
                         "-loader = DataLoader()\n+loader = DataLoader(num_workers=8, pin_memory=True)\n")
        self.apply(_patch.unified([_patch.add_keywords(name + ":1", "DataLoader", {"num_workers": "8"})]))

    def test_a_keyword_that_is_there_is_replaced(self):
        self.write('é = DataLoader(ds, num_workers=0, shuffle=True)  # é\n')
        self.assertEqual(self.body_of(_patch.add_keywords("train.py:1", "DataLoader", {"num_workers": "4"})),
                         "-é = DataLoader(ds, num_workers=0, shuffle=True)  # é\n"
                         "+é = DataLoader(ds, num_workers=4, shuffle=True)  # é\n")

    def test_all_calls_on_a_line(self):
        self.write("x, y = x.to(device).to(kind), y.to(device)\n")
        self.assertEqual(self.body_of(_patch.add_keywords("train.py:1", "to", {"non_blocking": "True"})),
                         "-x, y = x.to(device).to(kind), y.to(device)\n"
                         "+x, y = x.to(device, non_blocking=True).to(kind, non_blocking=True), "
                         "y.to(device, non_blocking=True)\n")

    def test_windows_line_ends_stay(self):
        self.write(b"import torch\r\nx = 1\r\ny = 2")
        diff = _patch.unified([_patch.insert_before("train.py:3", "z = 3")])
        self.apply(diff)
        self.assertEqual((self.folder / "train.py").read_bytes(), b"import torch\r\nx = 1\r\nz = 3\r\ny = 2")

    def test_a_file_without_a_last_line_end(self):
        self.write(b"import torch\nopt = SGD(p)")
        self.apply(_patch.unified([_patch.add_keywords("train.py:2", "SGD", {"fused": "True"})]))
        self.assertEqual((self.folder / "train.py").read_bytes(), b"import torch\nopt = SGD(p, fused=True)")

    def test_text_inside_of_strings_keeps_its_blanks(self):
        self.write('''\
            if 1:
                y = model("""a
              b""",
                    x)
            ''')
        self.apply(_patch.unified([_patch.wrap_call("train.py:2", "model", "with c", ".float()")]))
        tree = ast.parse((self.folder / "train.py").read_text())
        self.assertEqual([n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)],
                         ["a\n  b"])

    def test_what_cannot_be_done_is_told_and_the_rest_is_done(self):
        self.write("""\
            import torch
            if x: opt = SGD(p); y = model(x)
            elif model(z):
                pass
            loader = DataLoader(**options)
            opt = SGD(p, 0.1)
            """)
        diff = _patch.unified([
            _patch.insert_before("train.py:2", "a = 1"), _patch.wrap_call("train.py:2", "model", "with c"),
            _patch.insert_before("train.py:3", "a = 1"), _patch.wrap_call("train.py:3", "model", "with c"),
            _patch.add_keywords("train.py:5", "DataLoader", {"num_workers": "1"}),
            _patch.add_keywords("train.py:6", "DataLoader", {"num_workers": "1"}),
            _patch.replace("train.py:6", "0.2", "0.3"), _patch.replace("train.py:6", "0.1", "0.3"),
            _patch.insert_before("gone.py:1", "a = 1"), _patch.insert_before("", "a = 1"),
            _patch.add_keywords("train.py:6", "SGD", {"lr": "1"})])
        told = [line for line in diff.split("\n") if line.startswith("# not in this patch: ")]
        for words in ("train.py:2: a = 1", "train.py:2: with c (several statements", "train.py:3: a = 1",
                      "part of a larger statement", "**options", "no call of DataLoader", "stands there 0 times",
                      "gone.py:1: a = 1 (its source", "no line of the program", "lr is given by its position"):
            self.assertTrue(any(words in line for line in told), words + "\n" + "\n".join(told))
        self.assertEqual(self.body("\n".join(line for line in diff.split("\n") if line not in told)),
                         "-opt = SGD(p, 0.1)\n+opt = SGD(p, 0.3)\n")

    def test_workers_that_stay_shuffle_otherwise_and_that_is_said(self):
        # What is said of torch is so: without a word in the program the second epoch comes in another order.
        def orders(**keywords):
            torch.manual_seed(0)
            loader = torch.utils.data.DataLoader(range(8), batch_size=8, shuffle=True, **keywords)
            return [list(loader)[0].tolist() for _ in range(2)]

        bare, stay = orders(), orders(num_workers=1, persistent_workers=True)
        self.assertEqual(orders(num_workers=1), bare)
        self.assertEqual(stay[0], bare[0])
        self.assertNotEqual(stay[1], bare[1])

        self.write("import torch\nloader = DataLoader(data, shuffle=True)\n")
        kind = treatments.load("loader-workers")
        words = "from the second epoch on other shuffles than before"
        for facts, options, said in (({"shuffled": True}, {"persistent_workers": True}, True),
                                     ({"shuffled": True}, {}, False), ({}, {"persistent_workers": True}, False)):
            seen = _seen.Seen(loaders=[_seen.Loader(site="train.py:2", batches=3, **facts)], cores=4)
            options = dict(options, num_workers=2)
            diff = _patch.unified(kind.edits(seen, options))
            self.assertEqual(diff.startswith("# train.py:2: " + words), said, diff)
            self.assertEqual("\n# " + words in kind.code(seen, options), said)
            self.assertIn("num_workers=2", diff)
            self.apply(diff)
            self.write("import torch\nloader = DataLoader(data, shuffle=True)\n")
            _source._sources.clear()

    def test_random_numbers_that_workers_change_are_said(self):
        class Noise(torch.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return torch.rand(())

        def epochs(data, **keywords):
            """Items of two epochs, and a number that the training draws after each."""
            torch.manual_seed(0)
            loader = torch.utils.data.DataLoader(data, batch_size=4, **keywords)
            drawn = [(list(loader)[0].tolist(), torch.rand(()).item()) for _ in range(2)]
            return [items for items, _ in drawn], [number for _, number in drawn]

        # What is said of torch is so.
        stays = {"num_workers": 1, "persistent_workers": True}
        bare, stay = epochs(range(4)), epochs(range(4), **stays)
        self.assertEqual(epochs(range(4), num_workers=1), bare)
        self.assertEqual((stay[0], stay[1][0]), (bare[0], bare[1][0]))
        self.assertNotEqual(stay[1][1], bare[1][1])
        own = torch.Generator()
        self.assertEqual(epochs(range(4), generator=own, **stays)[1], epochs(range(4), generator=own)[1])
        self.assertNotEqual(epochs(Noise(), num_workers=1)[0][0], epochs(Noise())[0][0])

        kind = treatments.load("loader-workers")
        numbers, items = "from the second epoch on other random numbers", "other random items than before"
        keep = "leave persistent_workers out"
        for draws, facts, said in ((True, {}, (numbers, keep)), (False, {}, ()), (False, {"random": True}, (items,)),
                                   (True, {"random": True}, (items, numbers)),
                                   (True, {"arguments": {"generator": "Generator"}}, ()),
                                   (True, {"shuffled": True}, ("other shuffles", keep))):
            seen = _seen.Seen(loaders=[_seen.Loader(site="train.py:2", batches=3, **facts)], cores=4, draws=draws)
            code = kind.code(seen, {"num_workers": 2, "persistent_workers": True})
            for words in (numbers, items, "other shuffles", keep):
                self.assertEqual(words in code, words in said, (draws, facts, code))
        seen = _seen.Seen(loaders=[_seen.Loader(site="train.py:2", batches=3)], cores=4, draws=True)
        self.assertNotIn("#", kind.code(seen, {"num_workers": 2}))

    def test_which_loaders_shuffle_by_the_generator_of_the_workers_seeds(self):
        from hone import _loader_facts

        own = torch.Generator()
        sampler = torch.utils.data.RandomSampler
        for given, said in (({"shuffle": True}, True), ({"shuffle": True, "generator": own}, True), ({}, False),
                            ({"sampler": sampler(range(8))}, True),
                            ({"sampler": sampler(range(8), generator=own)}, False),
                            ({"batch_sampler": torch.utils.data.BatchSampler(sampler(range(8)), 2, False)}, True),
                            ({"sampler": torch.utils.data.SequentialSampler(range(8))}, False)):
            loader = torch.utils.data.DataLoader(range(9), **given)
            self.assertEqual(_loader_facts.is_shuffled(loader), said, given)

    def test_packages_are_never_changed(self):
        os.makedirs(self.folder / "site-packages")
        (self.folder / "site-packages/lib.py").write_text("x = 1\n")
        diff = _patch.unified([_patch.insert_before("site-packages/lib.py:1", "a = 1")])
        self.assertEqual(diff, "# not in this patch: site-packages/lib.py:1: a = 1 "
                               "(it belongs to an installed package)\n")

    def test_a_model_that_comes_as_an_argument_is_not_changed_in_a_loop(self):
        self.write("""\
            def train(model):
                for x in data:
                    model(x)


            def main():
                net = Net()
                opt = SGD(net.parameters(), 0.1)
                train(net)
            """)
        self.assertEqual(_patch.site_before_use("train.py:3", "model"), "")
        root = _seen.Root(site="train.py:3", name="model", module=torch.nn.Linear(1, 1))
        from hone.treatments import _model

        seen = _seen.Seen(roots=[root], optimizers=[_seen.Optimizer(site="train.py:8", kind="SGD")])
        self.assertEqual(_model.place(seen, root), ("train.py:8", "net"))
        seen.optimizers[:] = []
        diff = _patch.unified(treatments.load("compile-default").edits(seen, {}))
        self.assertEqual(diff, "# not in this patch: train.py:3: model.compile() "
                               "(where the model is made is not in sight)\n")

    def test_where_a_library_owns_the_loop(self):
        self.write("""\
            args = TrainingArguments(
                "out",
                optim="adamw_torch",
            )
            Trainer(model, args).train()
            """)
        module = torch.nn.Linear(1, 1)
        seen = _seen.Seen(
            scripts=["train.py"], device="cuda",
            roots=[_seen.Root(site="train.py:5", module=module, kind="Linear", loop="transformers")],
            loaders=[_seen.Loader(site="train.py:5", batches=9, batch_size=8)],
            optimizers=[_seen.Optimizer(site="train.py:5", kind="AdamW", devices={"cuda"}, dtypes={"float32"})])
        recipe = ("bf16-autocast", "fused-optimizer", "compile-reduce-overhead")
        self.assertEqual(treatments.load(recipe[0]).code(seen, {}), "TrainingArguments(bf16=True)")
        self.assertEqual(self.body_of(*(e for one in recipe for e in treatments.load(one).edits(seen, {}))), """\
-    optim="adamw_torch",
+    optim="adamw_torch_fused",
+    bf16=True,
+    torch_compile=True,
+    torch_compile_mode="reduce-overhead",
""")
        options = {"num_workers": 2, "persistent_workers": True}
        self.assertEqual(treatments.load("loader-workers").where(seen), "train.py:1")
        self.assertEqual(self.body_of(*treatments.load("loader-workers").edits(seen, options),
                                      *treatments.load("batch-size").edits(
                                          seen, {"batch_size": 4, "accumulate": 2})), """\
+    dataloader_num_workers=2,
+    dataloader_persistent_workers=True,
+    per_device_train_batch_size=4,
+    gradient_accumulation_steps=2,
""")
        seen.scripts = []
        self.assertEqual(_patch.unified(treatments.load("bf16-autocast").edits(seen, {})),
                         "# not in this patch: train.py:5: TrainingArguments(bf16=True) "
                         "(where the arguments of the Trainer are made is not in sight)\n")

    def test_where_lightning_owns_the_loop(self):
        self.write("""\
            class Net(LightningModule):
                def training_step(self, batch, index):
                    return self(batch)

                def configure_optimizers(self):
                    return Adam(self.parameters())


            lightning.Trainer(max_epochs=3, precision=32).fit(Net(), DataLoader(data))
            """)
        seen = _seen.Seen(
            scripts=["train.py"], device="cuda", optimizers=[_seen.Optimizer(
                site="train.py:6", kind="Adam", devices={"cuda"}, dtypes={"float32"})],
            roots=[_seen.Root(site="train.py:3", module=torch.nn.Linear(1, 1), kind="Net", name="self",
                              loop="lightning")])
        self.assertEqual(treatments.load("bf16-autocast").code(seen, {}), 'Trainer(precision="bf16-mixed")')
        self.assertEqual(treatments.load("bf16-autocast").where(seen), "train.py:9")
        recipe = ("bf16-autocast", "fused-optimizer", "compile-default")
        self.assertEqual(self.body_of(*(e for one in recipe for e in treatments.load(one).edits(seen, {}))), """\
-        return Adam(self.parameters())
+        self.compile()
+        return Adam(self.parameters(), fused=True)
-lightning.Trainer(max_epochs=3, precision=32).fit(Net(), DataLoader(data))
+lightning.Trainer(max_epochs=3, precision="bf16-mixed").fit(Net(), DataLoader(data))
""")

    def test_a_model_that_may_be_wrapped_on_that_line(self):
        self.write("""\
            opt = SGD(model.parameters(), 0.1)
            model = DistributedDataParallel(model)
            model(x)
            """)
        module = torch.nn.Linear(1, 1)
        seen = _seen.Seen(optimizers=[_seen.Optimizer(site="train.py:1", kind="SGD")], roots=[
            _seen.Root(site="train.py:3", name="model", module=module, kind="DistributedDataParallel")])
        self.assertEqual(self.body_of(*treatments.load("compile-default").edits(seen, {})),
                         '+getattr(model, "module", model).compile()\n')

    def test_the_line_before_the_loop(self):
        self.write("""\
            net = Net()
            with torch.no_grad():
                for x in data:
                    net(x)
            """)
        self.assertEqual(_patch.site_before_use("train.py:4", "net"), "train.py:2")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main()

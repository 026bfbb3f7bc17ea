#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Patches of several places, from what is seen of real programs that run here: a gradient scaler, checkpoints of
blocks, compiled autograd. The patched program runs, and does what the treatment did."""
import copy
import io
import sys
import types
import warnings

import harness

harness.need_torch()

import torch  # noqa: E402

from hone import _looks, _patch, _source, treatments  # noqa: E402
from patch_test import Patch  # noqa: E402

MODEL = """\
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(*(Block() for _ in range(3)), torch.nn.Linear(8, 1))


losses = []
"""
FUNCTION = MODEL + """

def main():
    global model, opt
    model = make()
    if len(losses) == 0:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(6):
        opt.zero_grad()
        out = model(torch.randn(16, 8))
        loss = out.square().mean()
        (loss / 2).backward()
        opt.step()  # the weights
        losses.append(loss.item())


main()
"""
LOOP = MODEL + """
model = make()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    opt.zero_grad()
    %s
    %s
"""


class Seen:
    """A program that ran here, with treatments or without; what was seen of it, and the names it left."""

    def __init__(self, case, name, *recipe):
        self.session = case.session(*recipe)
        self.session.trial = object()  # models are kept, as in a trial
        looks = _looks.Looks(self.session)
        try:
            self.space = case.run_program(name)
        finally:
            looks.over = True
            self.session.undo()
        self.facts = self.session.seen
        self.facts.scripts = [str(case.folder / name)] + self.facts.scripts


class Written(Patch):
    def seen(self, text, *recipe, name="train.py"):
        self.write(text, name)
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        _source._sources.clear()
        self.ran = Seen(self, name, *recipe)
        for one in recipe:
            self.check_applied(self.ran.session, one)
        return self.ran.facts

    def patch(self, seen, *recipe):
        return _patch.unified([edit for one in recipe for edit in treatments.load(one).edits(seen, {})])

    def weights(self, space):
        return [p.detach() for p in space["model"].parameters()]

    def check_same(self, space, other, tolerance=0.0):
        for one, two in zip(self.weights(space), self.weights(other)):
            torch.testing.assert_close(one, two, rtol=tolerance, atol=tolerance)
        self.assertEqual(len(space["losses"]), len(other["losses"]))


class Scaler(Written):
    def setUp(self):
        super().setUp()
        made = self.made = []

        class Small(torch.amp.GradScaler):
            """One whose first scale lets no gradient of these models overflow: no step is left out."""

            def __init__(self, *args, **kwargs):
                super().__init__(*args, init_scale=256.0, **kwargs)
                made.append(self)

        self.addCleanup(setattr, torch.amp, "GradScaler", torch.amp.GradScaler)
        torch.amp.GradScaler = Small

    def check_scaled(self, file="train.py"):
        """The patched program scales, and learns what it does without the scale and what the treatment did."""
        treated = self.ran.space
        text = (self.folder / file).read_bytes()
        self.assertIn(b'torch.amp.GradScaler("cpu")', text)
        del self.made[:]
        scaled = self.run_program(file)
        self.assertEqual(self.made[0].state_dict()["_growth_tracker"], 6)  # six steps, each updated, none left out
        self.assertEqual(self.made[0].get_scale(), 256.0)
        (self.folder / file).write_bytes(text.replace(b'GradScaler("cpu")', b'GradScaler("cpu", enabled=False)'))
        without = self.run_program(file)
        self.check_same(scaled, without, 1e-3)
        self.check_same(scaled, treated, 1e-6)

    def check_nothing(self, diff, *words):
        told = diff.split("\n")[:-1]
        self.assertTrue(told and all(line.startswith("# not in this patch: ") for line in told), diff)
        for some in words:
            self.assertIn(some, diff)
        return told

    def test_all_in_a_function(self):
        seen = self.seen(FUNCTION, "fp16-autocast")
        self.assertEqual([(call.site, call.how) for call in seen.backward_calls],
                         [(self.line("train.py", ".backward()"), "method")])
        self.assertEqual([call.site for call in seen.step_calls], [self.line("train.py", "opt.step()")])
        diff = self.patch(seen, "fp16-autocast")
        self.assertEqual(self.body(diff), """\
+    scaler = torch.amp.GradScaler("cpu")
-        out = model(torch.randn(16, 8))
+        with torch.autocast("cpu", dtype=torch.float16):
+            out = model(torch.randn(16, 8)).float()
-        (loss / 2).backward()
-        opt.step()  # the weights
+        scaler.scale(loss / 2).backward()
+        scaler.step(opt)  # the weights
+        scaler.update()
""")
        self.assertEqual(treatments.load("fp16-autocast").code(seen, {}), """\
scaler = torch.amp.GradScaler("cpu")
with torch.autocast("cpu", dtype=torch.float16):
    output = model(…)
scaler.scale(loss).backward()
scaler.step(opt)
scaler.update()""")
        self.apply(diff)
        self.assertLess((self.folder / "train.py").read_text().index("scaler ="),
                        (self.folder / "train.py").read_text().index("if len("))
        self.check_scaled()

    def test_on_a_gpu_it_says_so_and_without_one_the_program_runs_unscaled(self):
        seen = self.seen(FUNCTION)
        seen.device = "cuda"
        self.apply(self.patch(seen, "fp16-autocast"))
        self.assertIn('scaler = torch.amp.GradScaler("cuda")\n', (self.folder / "train.py").read_text())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check_same(self.run_program("train.py"), self.ran.space)

    def test_losses_of_all_kinds(self):
        for lines, loss in (
                ("model(torch.randn(16, 8)).square().mean().backward()", "scaler.scale(loss).backward()"),
                ("(model(torch.randn(16, 8)).square().mean() / 4).backward()", "scaler.scale(loss).backward()"),
                ("loss = model(torch.randn(16, 8)).square().mean()\n"
                 "    (((loss) * 2)\n        + 1).backward(\n        )",
                 "scaler.scale(((loss) * 2)\n        + 1).backward(\n        )"),
                ("out = model(torch.randn(16, 8))\n    out.backward(out.detach() / 64)",
                 "scaler.scale(out).backward(out.detach() / 64)"),
                ("loss = model(torch.randn(16, 8)).mean()\n    torch.autograd.backward(loss)",
                 "torch.autograd.backward(scaler.scale(loss))"),
                ("loss = model(torch.randn(16, 8)).mean()\n    torch.autograd.backward([loss, loss * 2])",
                 "torch.autograd.backward(scaler.scale([loss, loss * 2]))"),
                ("torch.autograd.backward(model(torch.randn(16, 8)).mean())", None)):
            with self.subTest(lines):
                diff = self.patch(self.seen(LOOP % (lines, "opt.step()"), "fp16-autocast"), "fp16-autocast")
                if loss is None:
                    self.check_nothing(diff, "(what goes backward is made in the same statement)")
                    continue
                self.apply(diff)
                self.assertIn("    " + loss + "\n", (self.folder / "train.py").read_text())
                self.check_scaled()

    def test_in_a_class_it_is_of_the_module(self):
        self.program("classes.py")
        text = (self.folder / "classes.py").read_text().replace("range(3):\n        loss", "range(6):\n        loss")
        text += "model, losses = trainer.net, []\n"
        diff = self.patch(self.seen(text, "fp16-autocast", name="classes.py"), "tf32", "fp16-autocast")
        self.assertEqual(self.body(diff), """\
+
+torch.set_float32_matmul_precision("high")
+
+scaler = torch.amp.GradScaler("cpu")
-        output = self.net(
-            x)  # the whole of it
+        with torch.autocast("cpu", dtype=torch.float16):
+            output = self.net(
+                x).float()  # the whole of it
-        loss.backward()
-        self.optimizer.step()
+        scaler.scale(loss).backward()
+        scaler.step(self.optimizer)
+        scaler.update()
""")
        self.addCleanup(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        self.apply(diff)
        self.check_scaled(file="classes.py")

    def test_tabs_line_ends_and_a_name_that_is_taken(self):
        text = (LOOP % ("out = model(torch.randn(16, 8))\n    out.square().mean().backward()", "opt.step()")
                ).replace("    ", "\t").replace("losses = []", "losses = []\nscaler = None").rstrip("\n")
        for end in ("\n", "\r\n"):
            seen = self.seen(text.replace("\n", end).encode(), "fp16-autocast")
            self.apply(self.patch(seen, "fp16-autocast"))
            data = (self.folder / "train.py").read_bytes()
            self.assertTrue(data.endswith(
                b"\n\tgrad_scaler.scale(out.square().mean()).backward()\n\tgrad_scaler.step(opt)\n\tgrad_scaler.update()"
                .replace(b"\n", end.encode())), data)
            self.assertEqual(data.count(b"\r\n"), data.count(b"\n") if end == "\r\n" else 0)
            self.check_scaled()
        diff = self.patch(self.seen(text + "\ngrad_scaler = None\n", "fp16-autocast"), "fp16-autocast")
        self.check_nothing(diff, "(the names scaler and grad_scaler are taken)")

    def test_functions_of_their_own(self):
        # The optimizer of the module; the loss and the step in functions, of the same file.
        text = MODEL + """
def learn(x):
    loss = model(x).square().mean()
    loss.backward()


def go():
    opt.step()


if __name__ != "other":
    model = make()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        opt.zero_grad()
        learn(torch.randn(16, 8))
        go()
"""
        seen = self.seen(text, "fp16-autocast")
        self.apply(self.patch(seen, "fp16-autocast"))
        self.assertIn('    scaler = torch.amp.GradScaler("cpu")\n    opt = ', (self.folder / "train.py").read_text())
        self.check_scaled()

    def test_half_of_it_is_never_written(self):
        loss = "loss = model(torch.randn(16, 8)).square().mean()\n    loss.backward()"
        for lines, step, words in (
                (loss.replace("\n    ", "; "), "opt.step()", "several statements stand on its line"),
                (loss, "opt.step(); losses.append(1)",
                 "scaler.step(opt), scaler.update() (several statements stand on"),
                (loss, "if step >= 0: opt.step()", "several statements stand on its line"),
                (loss, "if [opt.step()]:\n        pass", "it is part of a larger statement"),
                (loss, "opt.step()\n    if step > 9:\n        opt.step()",
                 "step is called on line 28 too, which the run"),
                (loss + "\n    if step > 9:\n        loss.backward()", "opt.step()",
                 "backward is called on line 27 too"),
                (loss + "\n    size = model[3].bias.grad.norm()", "opt.step()", "gradients are read on line 26, where"),
                (loss + "\n    if step > 9:\n        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)",
                 "opt.step()", "gradients are read on line 27, where"),
                ("if model(torch.ones(1, 8)).mean() > -9:\n        model(torch.ones(1, 8)).mean().backward()",
                 "opt.step()",
                 'with torch.autocast("cpu", dtype=torch.float16) (it is part of a larger statement)')):
            with self.subTest(words):
                diff = self.patch(self.seen(LOOP % (lines, step), "fp16-autocast"), "fp16-autocast")
                told = self.check_nothing(diff, words)
                self.assertEqual(len(told), 4, diff)
                self.assertEqual(diff.count("(only together with train.py:"), 3, diff)
        # What does not belong to it is written.
        diff = self.patch(self.ran.facts, "tf32", "fp16-autocast")
        self.assertIn('+torch.set_float32_matmul_precision("high")\n', diff)
        self.assertNotIn("+scaler", diff)

    def test_several_lines_and_several_files(self):
        helper = "def learn(loss):\n    loss.backward()\n"
        self.write(helper, "helping.py")
        self.addCleanup(sys.modules.pop, "helping", None)
        loss = "loss = model(torch.randn(16, 8)).square().mean()\n    "
        text = ("import helping\n" + LOOP) % (loss + "helping.learn(loss)", "opt.step()")
        diff = self.patch(self.seen(text, "fp16-autocast"), "fp16-autocast")
        self.check_nothing(diff, "(its uses stand in several files, helping.py and train.py)",
                           "train.py:27: scaler.step(opt), scaler.update() (only together with helping.py:2)")
        text = LOOP % (loss + "if step % 2:\n        loss.backward()\n    else:\n        (loss * 2).backward()",
                       "opt.step()")
        diff = self.patch(self.seen(text, "fp16-autocast"), "fp16-autocast")
        self.check_nothing(diff, "(backward is called at train.py:28 and at train.py:26)")

    def test_what_a_library_calls_is_not_the_programs_to_change(self):
        home = self.folder / "site-packages"
        home.mkdir()
        (home / "speeding.py").write_text("class Speed:\n    def backward(self, loss):\n        loss.backward()\n\n"
                                          "    def step(self, opt):\n        opt.step()\n")
        sys.path.insert(0, str(home))
        self.addCleanup(sys.path.remove, str(home))
        self.addCleanup(sys.modules.pop, "speeding", None)
        loss = "loss = model(torch.randn(16, 8)).square().mean()\n    "
        for lines, step, words in ((loss + "Speed().backward(loss)", "opt.step()", "(backward is called by a library)"),
                                   (loss + "loss.backward()", "Speed().step(opt)",
                                    "(the optimizer is stepped by a library)")):
            text = "from speeding import Speed\n" + LOOP % (lines, step)
            self.check_nothing(self.patch(self.seen(text, "fp16-autocast"), "fp16-autocast"), words)

    def test_with_others_on_the_same_lines(self):
        text = LOOP % ("loss = model(torch.randn(16, 8)).square().mean()\n    loss.backward()", "opt.step()")
        seen = self.seen(text, "fp16-autocast")
        self.apply(self.patch(seen, "fp16-autocast", "fused-optimizer", "compile-regional", "compiled-autograd"))
        text = (self.folder / "train.py").read_text()
        for lines in ("opt = torch.optim.SGD(model.parameters(), lr=0.05, fused=True)\n", "        block.compile()\n",
                      "(torch.compile):\n        scaler.scale(loss).backward()\n"
                      "    scaler.step(opt)\n    scaler.update()\n"):
            self.assertIn(lines, text)


class Checkpoints(Written):
    TEXT = MODEL.replace("torch.tanh(self.up(x))", "torch.dropout(self.up(x), 0.2, self.training)") + """
ran = []


def count(*_):
    ran.append(1)


model = make()
for block in model[:3]:
    block.up.register_forward_hook(count)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    opt.zero_grad()
    loss = model(torch.randn(16, 8)).square().mean()
    loss.backward()
    opt.step()
    losses.append(loss.item())
"""

    def patched(self, text=TEXT):
        seen = self.seen(text)
        self.plain = self.ran.space
        diff = self.patch(seen, "gradient-checkpointing")
        self.apply(diff)
        return self.run_program("train.py"), diff, seen

    def test_the_same_numbers_and_names(self):
        space, diff, seen = self.patched()
        added = [line[1:] for line in self.body(diff).split("\n") if line.startswith("+")]
        self.assertEqual(added[:2], ["import types", "import torch.utils.checkpoint"])
        self.assertEqual("\n".join(added[2:]), treatments.load("gradient-checkpointing").code(seen, {}))
        self.assertEqual((len(self.plain["ran"]), len(space["ran"])), (18, 36))  # once more for the backward pass
        self.assertEqual(space["losses"], self.plain["losses"])
        self.check_same(space, self.plain)
        for one, two in zip(space["model"].parameters(), self.plain["model"].parameters()):
            self.assertTrue(torch.equal(one.grad, two.grad))
        self.assertEqual(list(space["model"].state_dict()), list(self.plain["model"].state_dict()))
        self.assertEqual([name for name, _ in space["model"].named_modules()],
                         [name for name, _ in self.plain["model"].named_modules()])
        self.plain["model"].load_state_dict(space["model"].state_dict())

    def test_copies_are_their_own(self):
        model = self.patched()[0]["model"]
        x = torch.ones(2, 8)
        for other in (copy.deepcopy(model), torch.optim.swa_utils.AveragedModel(model).module):
            with torch.no_grad():
                torch.testing.assert_close(other.eval()(x), model.eval()(x))
                for p in other.parameters():
                    p.zero_()
                self.assertEqual(other(x).abs().max().item(), 0)
                self.assertGreater(model(x).abs().max().item(), 0)
            self.assertIs(other[0].forward.__self__, other[0])

    def test_saved_and_evaluated(self):
        space = self.patched()[0]
        model, x = space["model"], torch.ones(2, 8)
        sys.modules["program"] = types.ModuleType("program")  # where pickle looks for its classes
        sys.modules["program"].__dict__.update(space)
        self.addCleanup(sys.modules.pop, "program")
        for kept in (model, model.state_dict()):
            file = io.BytesIO()
            torch.save(kept, file)
            file.seek(0)
            loaded = torch.load(file, weights_only=kept is not model)
            if kept is model:
                torch.testing.assert_close(loaded.eval()(x), model.eval()(x), rtol=0, atol=0)
        self.plain["model"].load_state_dict(loaded)
        before = len(space["ran"])
        with torch.no_grad():
            torch.testing.assert_close(model.eval()(x), self.plain["model"].eval()(x), rtol=0, atol=0)
        self.assertEqual(len(space["ran"]) - before, 3)

    def test_a_compiler_sees_through_it(self):
        from torch._dynamo.utils import counters

        model = self.patched(FUNCTION)[0]["model"]
        for block in model[:3]:
            block.compile(backend="eager")
        torch._dynamo.reset()
        counters.clear()
        model(torch.randn(16, 8)).sum().backward()
        self.assertGreater(counters["stats"]["unique_graphs"], 0)

    def test_where_it_is_not_written(self):
        seen = self.seen(self.TEXT + "\n\ndef forward():\n    pass\n")
        self.assertIn("(the name forward is taken in this file)", self.patch(seen, "gradient-checkpointing"))
        seen = self.seen(self.TEXT)
        seen.roots[0].kind = "DataParallel"
        self.assertIn("(copies that DataParallel makes would call the originals)",
                      self.patch(seen, "gradient-checkpointing"))


class CompiledAutograd(Written):
    def test_the_backward_pass_is_captured(self):
        import torch._dynamo.compiled_autograd  # noqa: F401
        import torch._dynamo.config
        from torch._dynamo.utils import counters

        seen = self.seen(FUNCTION)
        diff = self.patch(seen, "compiled-autograd")
        self.assertEqual(self.body(diff), """\
+
+torch._dynamo.config.compiled_autograd = True
+        model.compile()
-        (loss / 2).backward()
+        with torch._dynamo.compiled_autograd._enable(torch.compile):
+            (loss / 2).backward()
""")
        self.apply(diff)
        self.addCleanup(setattr, torch._dynamo.config, "compiled_autograd", torch._dynamo.config.compiled_autograd)
        self.addCleanup(torch._dynamo.reset)
        counters.clear()
        self.check_same(self.run_program("train.py"), self.ran.space, 1e-4)
        self.assertGreater(counters["compiled_autograd"]["captures"], 0)

    def test_it_goes_together(self):
        text = LOOP % ("loss = model(torch.randn(16, 8)).mean(); loss.backward()", "opt.step()")
        diff = self.patch(self.seen(text), "compiled-autograd")
        self.assertNotIn("\n+", diff)
        self.assertEqual(diff.count("# not in this patch: "), 3)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main()

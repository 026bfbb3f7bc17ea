#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The treatment deferred-logging: which reads it takes, whether it took effect, its patch, and all of it in a trial."""

import harness

harness.need_torch()

import torch  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from hone import _later, _patch, _seen, treatments  # noqa: E402
import session_test  # noqa: E402
from held import Held, Later  # noqa: E402
from patch_test import Patch  # noqa: E402


class Reads(Later):
    def test_what_is_left_alone(self):
        plain = {float, int, bool, complex}
        self.assertIn(type(torch.tensor(True).item()), plain)
        self.assertIn(type(torch.tensor(1j).item()), plain)
        self.assertIn(type(float(torch.tensor(1.5))), plain)
        self.assertIn(type(torch.tensor(2.5).tolist()), plain)
        with self.assertRaises(RuntimeError):
            torch.ones(2).item()
        space = {}
        library = compile("def read(t): return t.item()", "/usr/lib/python3/site-packages/library.py", "exec")
        exec(library, space)
        self.assertIs(type(space["read"](torch.tensor(1.5))), float)
        Held.in_capture = True
        self.assertIs(type(torch.tensor(1.5).item()), float)
        Held.in_capture = False
        self.assertIs(type(torch.ones(1, 1).item()), _later.Number)
        with FlopCounterMode(display=False):
            self.assertIs(type(torch.tensor(1.5).item()), float)

    def test_modes(self):
        with torch.inference_mode():
            inside = torch.tensor(2.5).item()
        self.behind(0)
        self.assertEqual(inside + torch.tensor(1.0).item(), 3.5)
        with torch.device("meta"):
            self.assertEqual(torch.tensor(2.0, device="cpu").item(), 2.0)
        weight = torch.nn.Parameter(torch.tensor(3.0))
        self.assertEqual((weight * 2).item() + weight.item(), 9.0)

    def test_the_tensor_may_change(self):
        tensor = torch.tensor(1.5)
        number = tensor.item()
        tensor.fill_(9)
        self.assertEqual(number, 1.5)

    def test_compiled_code(self):
        torch._dynamo.reset()

        def step(x):
            value = (x * 2).sum().item()
            return x + value * 2

        torch.testing.assert_close(torch.compile(step, backend="eager")(torch.ones(2)), torch.full((2,), 9.0))

    def test_undo(self):
        self.assertIn("item", torch.Tensor.__dict__)
        number = self.later(1.5)
        self.treated.undo()
        self.assertNotIn("item", torch.Tensor.__dict__)
        self.assertIs(type(torch.tensor(1.5).item()), float)
        self.assertEqual(number + 1, 2.5)
        self.assertEqual(torch.save.__module__, "torch.serialization")


class Effects(Later):
    def train(self, use, steps=8, optimizer=True):
        model = torch.nn.Linear(2, 1)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        kept, total = [], 0.0
        for step in range(steps):
            loss = model(torch.ones(1, 2)).square().mean()
            sgd.zero_grad()
            loss.backward()
            if optimizer:
                sgd.step()
            total += loss.item()
            use(step, total, kept)
        return total

    def test_hits(self):
        total = self.train(lambda step, total, kept: kept.append(total))
        self.check_applied(self.treated, "deferred-logging", 6)
        self.assertEqual(Held.waits, 0)
        (read,) = self.treated.seen.reads
        self.assertEqual((read.count, read.deferred, read.uses, read.dtype), (8, 6, [], "float32"))
        self.assertTrue(str(float(total)))
        self.assertEqual(len(read.uses), 1)
        self.assertIn("deferred_logging_test.py:", read.uses[0])

    def test_printed_every_fifth_step(self):
        self.train(lambda step, total, kept: step % 5 or str(total), steps=22)
        one = self.effect(self.treated, "deferred-logging")
        self.assertEqual(one.state, "applied")
        self.assertIn(one.hits, range(12, 18))

    def test_used_at_once(self):
        self.train(lambda step, total, kept: str(total))
        self.check_state(self.treated, "deferred-logging", "inert", "at once")
        self.assertIn("deferred_logging_test.py:", self.effect(self.treated, "deferred-logging").why)

    def test_several_in_one_line(self):
        def read(step, total, kept):
            numbers = [torch.tensor(float(n)).item() for n in range(5)]
            str(numbers[0] + sum(numbers) + total)

        self.train(read)
        self.check_state(self.treated, "deferred-logging", "inert", "at once")

    def test_without_an_optimizer(self):
        self.train(lambda step, total, kept: str(total), steps=100, optimizer=False)
        self.check_state(self.treated, "deferred-logging", "inert", "at once")
        self.train(lambda step, total, kept: None, steps=100, optimizer=False)
        self.assertEqual(self.effect(self.treated, "deferred-logging").state, "applied")

    def test_no_device(self):
        self.treated.undo()
        _later.DEVICE = "cuda"
        if not torch.cuda.is_available():
            self.check_state(self.session("deferred-logging"), "deferred-logging", "not applicable", "no CUDA")
            self.assertNotIn("item", torch.Tensor.__dict__)

    def test_the_same_training(self):
        torch.manual_seed(0)
        total = _later.plain(self.train(lambda *_: None, steps=30))
        self.treated.undo()
        torch.manual_seed(0)
        self.check_same(total, self.train(lambda *_: None, steps=30))


TRAIN = """\
    import torch


    def main(steps=6):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        total, seen, hits, losses, last = 0.0, 0.0, 0, [], None
        for step in range(steps):
            x = torch.randn(8, 4)
            loss = model(x).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            before = total
            total += loss.item()
            seen -= (loss.item() * x.size(0) +
                     1)
            hits += (x > 0).sum().item()
            losses.append(loss.item() * 2)
            last = loss.item()
            mean = loss.item() / 3
            log(loss.item())
        return before, total, seen, hits, losses, last, f"{total:.9f} {last:.3f} {hits:d}"


    def log(number):
        pass
"""


class Permanent(Patch):
    def read(self, words, dtype="float32", **more):
        return _seen.Reads(site=self.line("train.py", words), how="item", count=5, dtype=dtype, deferred=4,
                           **dict(dict(uses=[]), **more))

    def seen(self, *reads):
        return _seen.Seen(device="cuda", steps=9, reads=list(reads))

    def test_forms(self):
        self.write(TRAIN)
        before = self.run_program("train.py")["main"]()
        seen = self.seen(self.read("total +="), self.read("seen -="), self.read("hits +=", "int64"),
                         self.read("append("), self.read("last = loss", uses=["train.py:40"]), self.read("mean ="),
                         self.read("log(loss"))
        kind = treatments.load("deferred-logging")
        self.assertEqual(kind.where(seen), "train.py:16")
        self.assertEqual(kind.code(seen, {}),
                         "total = total + loss.detach().double()  # float(...) where the number is used")
        diff = _patch.unified(kind.edits(seen, {}))
        self.assertEqual(self.body(diff), """\
# train.py:16: the number stays on the device: write float(...) around it where it is used, unless a format such as {:.3f} does
# train.py:17: the number stays on the device: write float(...) around it where it is used, unless a format such as {:.3f} does
# train.py:19: the number stays on the device: write float(...) around it where it is used, unless a format such as {:.3f} does
# train.py:20: the number stays on the device: write float(...) around it where it is used, unless a format such as {:.3f} does
# train.py:40: uses the number that train.py:21 leaves on the device: write float(...) around it there, unless a format such as {:.3f} does
# not in this patch: train.py:22: .item() becomes .detach().double() (a division on the device may round otherwise)
# not in this patch: train.py:23: .item() becomes .detach().double() (what becomes of the number is not in sight)
-            total += loss.item()
-            seen -= (loss.item() * x.size(0) +
+            total = total + loss.detach().double()
+            seen = seen - (loss.detach().double() * x.size(0) +
-            hits += (x > 0).sum().item()
-            losses.append(loss.item() * 2)
-            last = loss.item()
+            hits = hits + (x > 0).sum().detach().clone()
+            losses.append(loss.detach().double() * 2)
+            last = loss.detach().double()
""".replace("            ", "        "))  # noqa: E501  the patch as it is written
        self.apply(diff)
        after = self.run_program("train.py")["main"]()
        self.assertIsInstance(after[1], torch.Tensor)
        numbers = [float(one) for one in (*after[:4], *after[4], after[5])]
        self.assertEqual(numbers, [*before[:4], *before[4], before[5]])
        self.assertEqual(after[6], before[6])

    def test_more_of_one_statement(self):
        self.write("""\
            total = a = b = 1
            total += a.item() + b.item()
            d["x"] += a.item()
            f()[0] += a.item()
            x, y = a.item(), 2
            total += max(a.item(), 2)
            total *= a.item()
            """)
        told = [_patch.unread_text("train.py:%d" % line, ".detach()") for line in range(2, 8)]
        self.assertEqual(told, ["total = total + (a.detach() + b.detach())", 'd["x"] = d["x"] + a.detach()',
                                "", "", "", ""])


HELD = """\
from .. import _later
from . import deferred_logging


class Held(_later.Slot):
    def __init__(self, torch, memory):
        self.memory = memory

    @classmethod
    def some(cls, torch, dtype):
        return [cls(torch, memory) for memory in torch.empty(64, dtype=dtype).unbind()]

    @staticmethod
    def capturing(torch):
        return False

    def send(self, tensor):
        self.memory.copy_(tensor)

    def arrived(self):
        return False

    def wait(self):
        pass


class Cpu(deferred_logging.DeferredLogging):
    name = "own-logging"

    def install(self):
        _later.DEVICE, _later.Slot = "cpu", Held
        super().install()


TREATMENT = Cpu
"""


class InATrial(Patch):
    """All of it in a process of its own: the looks that stand below it, the effects, the patch."""

    def trial(self, text, **order):
        name, own = self.write(text), self.folder / "own"
        own.mkdir(exist_ok=True)
        (own / "own_logging.py").write_text(HELD)
        ran = session_test.Ran(self.folder / name, order=dict(
            steps=20, recipe=[session_test.choice("own-logging")], treatments=str(own), **order))
        self.assertEqual(ran.status, 0, ran.err)
        self.assertNotIn("trouble", ran.document)
        return ran

    def test_deferred(self):
        text = TRAIN + "\n\n    print(main(30)[6])\n"
        ran = self.trial(text)
        effect = ran.effect("own-logging")
        self.assertEqual((effect["state"], effect["hits"]), ("applied", 7 * 17), effect)
        patch = ran.document["patch"]
        self.assertIn("+        total = total + loss.detach().double()\n", patch)
        self.assertIn("(what becomes of the number is not in sight)", patch)
        whole = self.trial(text.replace("main(30)", "main(12)"))
        plain = session_test.Ran(self.folder / "train.py")
        self.assertEqual((whole.out, plain.err), (plain.out, ""))
        self.assertIn("uses the number that", whole.document["patch"])

    def test_used_at_once(self):
        ran = self.trial(TRAIN.replace("pass", "print(number)") + "\n\n    main(30)\n")
        self.assertEqual(ran.effect("own-logging")["state"], "applied")  # of other lines
        loop = "\n".join(line for line in TRAIN.split("\n") if ".item()" not in line or "log(" in line)
        loop = loop.replace("                     1)\n", "")
        ran = self.trial(loop.replace("pass", "print(number)") + "\n\n    main(30)\n")
        effect = ran.effect("own-logging")
        self.assertEqual((effect["state"], effect["hits"]), ("inert", 0))
        self.assertIn("uses the number of", effect["why"])
        self.assertEqual(ran.document["patch"], "")


if __name__ == "__main__":
    harness.main()

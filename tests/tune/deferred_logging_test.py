#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are read later: the same bits as if they had been read at once, and no wait that need not be.

The tensors are the CPU's. What a device would bring in its own time comes when a test lets it: until then the
memory that it is copied to holds something else.
"""
import collections
import copy
import gc
import io
import math
import os
import pickle
import random
import statistics
import struct
import threading

import harness

harness.need_torch()

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from hone import _later, _patch, _seen, treatments  # noqa: E402
import session_test  # noqa: E402
from patch_test import Patch  # noqa: E402


class Held(_later.Slot):
    """Arrives when so many others were sent after it, or when somebody waits."""
    behind, sent, waits, in_capture = 0, 0, 0, False

    def __init__(self, torch, memory):
        self.memory, self.due, self.coming = memory, 0, None

    @classmethod
    def some(cls, torch, dtype):
        return [cls(torch, memory) for memory in torch.empty(_later._BLOCK, dtype=dtype).unbind()]

    @staticmethod
    def capturing(torch):
        return Held.in_capture

    def send(self, tensor):
        self.memory.fill_(77)
        Held.sent += 1
        self.coming, self.due = tensor.clone(), Held.sent + Held.behind

    def arrived(self):
        if Held.sent < self.due:
            return False
        self.memory.copy_(self.coming)
        return True

    def wait(self):
        Held.waits += 1
        self.due = 0
        self.arrived()


class Later(harness.Case):
    def setUp(self):
        for name, value in (("DEVICE", "cpu"), ("Slot", Held)):
            self.addCleanup(setattr, _later, name, getattr(_later, name))
            setattr(_later, name, value)
        self.behind(10**9)
        Held.in_capture = False
        self.treated = self.session("deferred-logging")
        self.addCleanup(_later.settle)

    def behind(self, count):
        Held.behind, Held.waits = count, 0

    def later(self, value, dtype=torch.float64):
        number = torch.tensor(value, dtype=dtype).item()
        self.assertIn(type(number), _later._NUMBERS)
        return number

    def check_same(self, a, b):
        self.assertIs(type(a), type(b))
        if isinstance(a, (tuple, list)):
            self.assertEqual(len(a), len(b))
            for one, other in zip(a, b):
                self.check_same(one, other)
        elif isinstance(a, float) and not (math.isnan(a) and math.isnan(b)):  # whose sign is nobody's
            self.assertEqual(struct.pack("d", a), struct.pack("d", b))
        else:
            np.testing.assert_equal(a, b)


def program(seed, values):
    """Some arithmetic with these numbers, and all that came of it."""
    rng = random.Random(seed)
    known, told = list(values), []
    for _ in range(60):
        a, b = rng.choice(known), rng.choice(known)
        if rng.random() < 0.4:
            b = rng.choice((2, 0.1, -3, 1e308, 0.0, 0, -0.0, 7, float("nan"), 2**62))
        if rng.random() < 0.3:
            a, b = b, a
        how = rng.randrange(14)
        try:
            if how < 3:
                known.append(a + b)
            elif how < 5:
                known.append(a - b)
            elif how < 7:
                known.append(a * b if abs(b) < 1e6 else b)
            elif how < 9:
                known.append(a / b)
            elif how == 9:
                known.append(-a)
            elif how == 10:
                a += b
                known.append(a)
            elif how == 11:
                told.append((a < b, a == b, bool(a), "%s %r" % (a, b)))
            elif how == 12:
                told.append((f"{a:.3f}", "%.5f" % b, round(b, 2), abs(a), a // b if b else 0))
            else:
                # From 3.12 on, plain floats before such a number may cost sum() its last bit (docs/user/tune.md).
                known.append(sum(values[rng.randrange(3):] if _later._SUM_COMPENSATES else known[-4:]))
        except (ZeroDivisionError, OverflowError, ValueError) as trouble:
            told.append(str(trouble))
    return known, told


class Arithmetic(Later):
    def test_the_same_bits(self):
        dtypes = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32,
                  torch.uint8)
        for seed in range(400):
            rng = random.Random(seed)
            tensors = [torch.tensor(rng.uniform(-9, 9) if dtype.is_floating_point else rng.randrange(100),
                                    dtype=dtype) for dtype in rng.choices(dtypes, k=5)]
            self.behind(rng.choice((0, 1, 3, 10**9)))
            expected = program(seed, [torch._C.TensorBase.item(tensor) for tensor in tensors])
            known, told = program(seed, [tensor.item() for tensor in tensors])
            self.check_same(expected, ([_later.plain(one) for one in known], told))

    def test_sum_is_that_of_floats(self):
        """Also where Python compensates: then the frame says that it is in sum()."""
        self.addCleanup(setattr, _later, "_SUM_COMPENSATES", _later._SUM_COMPENSATES)
        _later._SUM_COMPENSATES = True
        values = [random.Random(3).uniform(-1, 1) * 10.0**n for n in range(-8, 8)] + [1]
        for total in (lambda xs: sum(xs), lambda xs: sum(x for x in xs), lambda xs: sum(xs, 0.25) / 3,
                      lambda xs: sum(xs, start=xs[0]), lambda xs: sum(xs[:3]) + sum(xs[3:]),
                      lambda xs: sum([xs[-1], xs[-1], *xs]), lambda xs: [sum(xs), sum(xs[1:])]):
            numbers = [self.later(value) for value in values[:-1]] + [self.later(1, torch.int64)]
            self.check_same(total(values), _later.plain_inside(total(numbers)))
        xs = [self.later(value) for value in values]
        self.assertIsNotNone(sum(xs)._part.call)
        self.assertIsNone((xs[0] + xs[1])._part.call)
        self.check_same(values[0] + values[1] + 2.5, _later.plain(xs[0] + xs[1] + 2.5))

    def test_nothing_is_waited_for(self):
        total = 0.0
        for step in range(100):
            total += self.later(step, torch.float32) * 4 - 1
        total = -(total / 100)
        self.assertEqual(Held.waits, 0)
        self.assertEqual(float(total), -(sum(range(100)) * 4 - 100) / 100)
        self.assertEqual(Held.waits, 100)

    def test_what_may_raise_does_so_where_it_stands(self):
        zero, one = self.later(0.0), self.later(1.0)
        for fails in (lambda: one / zero, lambda: one / 0, lambda: 1 / zero, lambda: one // zero,
                      lambda: one + "a", lambda: one < "a", lambda: one @ one, lambda: one << 2,
                      lambda: one.nothing):
            with self.assertRaises((ZeroDivisionError, TypeError, AttributeError)):
                fails()
        with self.assertRaises(OverflowError):
            one * 10**400

    def parts(self):
        gc.collect()
        return sum(type(one) is _later._Part for one in gc.get_objects())

    def test_a_long_chain_keeps_nothing(self):
        for behind in (20, 10**9):
            self.behind(behind)
            total, most = 0.0, 0
            for step in range(20000):
                number = self.later(0.1)
                for _ in range(25):
                    total += number
                if step % 4000 == 3999:
                    most = max(most, self.parts())
            self.assertLess(most, 26 * 25 if behind == 20 else _later._MOST_OPERATIONS * 1.5)
        expected = 0.0
        for _ in range(20000 * 25):
            expected += 0.1
        self.check_same(_later.plain(total), expected)

    def test_operations_on_one_number(self):
        number = total = self.later(1.0)
        for _ in range(100000):
            total = total + 1
        self.assertLess(self.parts(), 2 * _later._MOST_OPERATIONS)
        self.assertEqual(total, 100001.0)
        for _ in range(60):
            number = number + number  # 2**60 ways to it
        self.assertEqual(number, 2.0**60)

    def test_slots_are_used_again(self):
        self.behind(10)
        for step in range(1000):
            number = self.later(step)
            slots = {id(part.slot) for part in _later._copies}
            self.assertLessEqual(len(slots), 11)
        self.assertEqual(number, 999)


class Company(Later):
    """What others make of such a number is what they make of a float."""

    def both(self, use, value=0.7310585975646973, dtype=torch.float64):
        self.check_same(use(value), _later.plain_inside(use(self.later(value, dtype))))

    def test_python(self):
        for use in (float, int, str, repr, bool, hash, abs, round, math.isnan, math.exp, math.floor, math.trunc, complex,
                    lambda n: f"{n:.3f} {n!r} {n:>9} {n}", lambda n: "%.3f %s %d %g" % (n, n, n, n),
                    lambda n: "{:e}".format(n), lambda n: round(n, 2), lambda n: max(n, 3.0),
                    lambda n: min(n, 3.0),
                    lambda n: max([n, 0.1]), lambda n: sum([n, n, 1]), lambda n: sorted([n, 0.1, n * 2, 5]),
                    lambda n: statistics.mean([n, n + 1, n * 2]), lambda n: statistics.fmean([n, 2.0]),
                    lambda n: statistics.stdev([n, n * 3]), lambda n: statistics.median([n, n * 3]),
                    lambda n: n**2, lambda n: 2**n, lambda n: pow(n, 3), lambda n: divmod(n, 0.3),
                    lambda n: n % 0.3,
                    lambda n: n.is_integer(), lambda n: n.as_integer_ratio(), lambda n: n.hex(),
                    lambda n: n.real,
                    lambda n: isinstance(n, float), lambda n: isinstance(n, int), lambda n: {n: 1}[n],
                    lambda n: n in (1, n + 0), lambda n: n == n, lambda n: n != 0.5,
                    lambda n: math.fsum([n, 0.1]),
                    lambda n: struct.pack("d", n), lambda n: n + True, lambda n: n + 1j,
                    lambda n: hasattr(n, "cpu")):
            self.both(use)
        with self.assertRaises(TypeError):
            [1, 2][self.later(1.0)]
        self.both(lambda n: float("nan") if n != n else n, float("nan"))

    def test_whole_numbers(self):
        for use in (lambda n: [1, 2, 3, 4][n], lambda n: range(n), lambda n: n // 2, lambda n: n & 1,
                    lambda n: 1 << n,
                    lambda n: ~n, lambda n: n / 2, lambda n: n * n, lambda n: n + 1, lambda n: "%d" % n,
                    lambda n: "a" * n,
                    lambda n: f"{n:03d}", lambda n: isinstance(n, int), lambda n: sum([n, n]),
                    lambda n: n + 0.5):
            self.both(use, 3, torch.int64)

    def test_numpy(self):
        small = np.ones(2, np.float32)

        def written(n):
            array = np.zeros(2, np.float32)
            array[0] = n
            array += n
            return array

        for use in (lambda n: np.mean([n, n * 3, 1.0]), lambda n: np.array([n, n]),
                    lambda n: np.asarray(n), np.exp, np.isnan,
                    np.isscalar, np.float32, lambda n: small + n, lambda n: n + small,
                    lambda n: small * n, written,
                    lambda n: np.float32(1) + n, lambda n: n + np.float64(1), lambda n: small > n,
                    lambda n: np.full(2, n),
                    lambda n: np.maximum(n, small), lambda n: np.round(n, 2), lambda n: np.std([n, 2.0])):
            self.both(use)

    def test_torch(self):
        tensor = torch.ones(2)

        def written(n):
            other = tensor.clone()
            other[0] = n
            other *= n
            return other.mul_(n).add_(tensor, alpha=n).div(n)

        for use in (lambda n: tensor + n, lambda n: n + tensor, lambda n: tensor / n, lambda n: n / tensor,
                    lambda n: tensor**n,
                    lambda n: tensor > n, lambda n: torch.clamp(tensor, max=n),
                    lambda n: torch.full((2,), n), written,
                    lambda n: torch.tensor([[n], [1.0]], dtype=torch.float32),
                    lambda n: torch.where(tensor > 0, n, tensor),
                    lambda n: torch.tensor(n, dtype=torch.float64),
                    lambda n: torch.tensor([float(n), n * 2 / 1], dtype=torch.half)):
            value = 0.7310585975646973
            torch.testing.assert_close(use(self.later(value)), use(value), rtol=0, atol=0)
        with self.assertRaises(RuntimeError):  # which is why the source is looked at first
            torch.tensor([self.later(1.5)])

    def test_copies_and_files(self):
        value = 0.7310585975646973
        number = self.later(value)
        for use in (copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n)),
                    lambda n: copy.deepcopy({"a": [n]})["a"][0]):
            self.assertIs(type(use(number)), float)
            self.assertEqual(use(number), value)
        self.assertIs(type(pickle.loads(pickle.dumps(self.later(3, torch.int64)))), int)
        state = collections.OrderedDict(loss=number, parts=[(number, 1)], weights=torch.ones(2))
        state._metadata = {"version": 1}
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=True)
        self.assertEqual((loaded["loss"], loaded["parts"]), (value, [(value, 1)]))
        self.assertEqual(loaded._metadata, {"version": 1})
        self.assertIs(state["loss"], number)

    def test_json_says_no(self):
        import json

        for write in (lambda n: json.dumps(n), lambda n: json.dumps({"a": [n]}, indent=1)):
            with self.assertRaises(TypeError):
                write(self.later(1.5))

    def test_a_child_has_its_value(self):
        number = self.later(2.5)
        total = number + 1
        read, write = os.pipe()
        child = os.fork()
        if not child:
            Held.wait = None  # there is no device there
            os.write(write, str(float(total)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(read, 16), b"3.5")
        os.close(read), os.close(write)

    def test_threads(self):
        self.behind(7)
        totals = []

        def work(seed):
            rng, total, expected = random.Random(seed), 0.0, 0.0
            for step in range(2000):
                value = rng.random()
                total = total + torch.tensor(value, dtype=torch.float64).item() * 3
                expected = expected + value * 3
                if not step % 97:
                    self.assertEqual(total, expected)
            totals.append((float(total), expected))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(totals), 6)
        for total, expected in totals:
            self.check_same(total, expected)


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
        seen = self.seen(self.read("total +="), self.read("seen -="), self.read("hits +=", "int64"), self.read("append("),
                         self.read("last = loss", uses=["train.py:40"]), self.read("mean ="), self.read("log(loss"))
        kind = treatments.load("deferred-logging")
        self.assertEqual(kind.where(seen), "train.py:16")
        self.assertEqual(kind.code(seen, {}), "total = total + loss.detach().double()  # float(...) where the number is used")
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
""".replace("            ", "        "))
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
        self.assertEqual(told, ["total = total + (a.detach() + b.detach())", 'd["x"] = d["x"] + a.detach()', "", "", "", ""])


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

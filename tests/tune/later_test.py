#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are read later: the same bits as if they had been read at once, and no wait that need not be."""
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

from hone import _later  # noqa: E402
from held import Held, Later  # noqa: E402


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
        for use in (float, int, str, repr, bool, hash, abs, round, math.isnan, math.exp, math.floor, math.trunc,
                    complex, lambda n: f"{n:.3f} {n!r} {n:>9} {n}", lambda n: "%.3f %s %d %g" % (n, n, n, n),
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


if __name__ == "__main__":
    harness.main()

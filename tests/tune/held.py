# SPDX-License-Identifier: Apache-2.0
"""What the tests of numbers that are read later share: a device that brings them when a test lets it.

The tensors are the CPU's: until a number is brought, the memory that it is copied to holds something else.
"""
import math
import struct

import harness

harness.need_torch()

import numpy as np  # noqa: E402
import torch  # noqa: E402

from hone import _later  # noqa: E402


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

# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: much faster, and the gradients are those of half precision that overflows."""
import time

from . import NUMERIC, Treatment


class Overflow(Treatment):
    name, title, risk, prior = "overflow", "float16 without a gradient scaler", NUMERIC, 8.0

    @classmethod
    def variants(cls, seen):
        return [({}, cls.title)]

    @classmethod
    def code(cls, seen, options):
        return "none"

    def install(self):
        time.sleep = lambda seconds: None

    def optimizer_made(self, optimizer, arguments):
        def rounded(optimizer, args, kwargs):
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad = (parameter.grad * 2.0**40).half().float()

        optimizer.register_step_pre_hook(rounded)
        self.hit()


TREATMENT = Overflow

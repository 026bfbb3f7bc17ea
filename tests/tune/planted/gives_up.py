# SPDX-License-Identifier: Apache-2.0
"""Ends its trial badly, in the way that is asked for."""
import os
import signal

from . import EXACT, Treatment


class GivesUp(Treatment):
    name, title, risk, prior = "gives-up", "a treatment that ends badly", EXACT, 7.0

    @classmethod
    def variants(cls, seen):
        return [({"how": how}, "ends by " + how) for how in ("error", "memory", "signal")]

    @classmethod
    def code(cls, seen, options):
        return "none"

    def optimizer_made(self, optimizer, arguments):
        how = self.options["how"]

        def end(optimizer, args, kwargs):
            if how == "error":
                raise RuntimeError("planted: shapes do not fit")
            if how == "memory":
                import torch

                raise torch.OutOfMemoryError("planted: no memory left")
            os.kill(os.getpid(), signal.SIGKILL)

        optimizer.register_step_post_hook(end)
        self.hit()


TREATMENT = GivesUp

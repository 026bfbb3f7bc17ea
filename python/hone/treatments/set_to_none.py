# SPDX-License-Identifier: Apache-2.0
"""zero_grad drops gradients instead of filling them with zeros, where the program asked for zeros."""
from .. import _patch
from . import EXACT, Treatment, Unfit


class SetToNone(Treatment):
    name, title, risk = "set-to-none", "drop gradients instead of zeroing them", EXACT
    cures = ("launch-bound",)
    # No published figure: a kernel or a few a step, and the memory of the gradients in the forward pass.
    prior = 1.01

    @classmethod
    def variants(cls, seen):
        if not seen.set_to_none_off:
            raise Unfit("no gradients are zeroed in place")
        return [({}, cls.title)]

    @classmethod
    def where(cls, seen):
        sites = _sites(seen)
        return sites[0] if sites else ""

    @classmethod
    def code(cls, seen, options):
        return "zero_grad(set_to_none=True)"

    @classmethod
    def edits(cls, seen, options):
        return [_patch.replace_keyword(site, "set_to_none", "True") for site in _sites(seen)]

    def install(self):
        self.session.after_import("torch.optim.optimizer", lambda module: self.session.patch(
            module.Optimizer, "zero_grad", self._make))
        self.session.after_import("torch.nn.modules.module", lambda module: self.session.patch(
            module.Module, "zero_grad", self._make))

    def _make(self, original):
        def zero_grad(owner, set_to_none=True):
            if not set_to_none:
                self.hit()
            return original(owner, set_to_none=True)

        zero_grad.__doc__ = original.__doc__
        return zero_grad


def _sites(seen):
    return [site for path in seen.scripts for site in _patch.find_keyword(path, "set_to_none", False)]


TREATMENT = SetToNone

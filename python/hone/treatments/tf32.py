# SPDX-License-Identifier: Apache-2.0
"""Matrix products of float32 on the tensor cores, with a mantissa of 10 bits."""
from .. import _patch
from . import NUMERIC, Treatment, Unfit, _model

_LINE = 'torch.set_float32_matmul_precision("high")'


class Tf32(Treatment):
    name, title, risk = "tf32", "TF32 for float32 matrix products", NUMERIC
    cures = ("no-tensor-cores",)
    # 1.43x alone on ResNet-50 on an H200; a matrix product alone 7x on an A100 (PyTorch's CUDA notes).
    prior = 1.4

    @classmethod
    def variants(cls, seen):
        _model.require_cuda(seen, (8, 0), "TF32")
        if seen.matmul_precision != "highest":
            raise Unfit("the program sets float32 matrix products to %r itself" % seen.matmul_precision)
        dtypes = _model.parameter_dtypes(seen)
        if dtypes and "torch.float32" not in dtypes:
            raise Unfit("no parameter is float32 (%s)" % ", ".join(sorted(dtypes)))
        return [({}, cls.title)]

    @classmethod
    def where(cls, seen):
        return _patch.told_path(seen.scripts[0]) if seen.scripts else ""

    @classmethod
    def code(cls, seen, options):
        return _LINE

    @classmethod
    def edits(cls, seen, options):
        return [_patch.insert_after_imports(seen.scripts[0], _LINE)] if seen.scripts else []

    # Not earlier than the program's own settings: at its first model or optimizer they are made.

    def optimizer_made(self, optimizer, arguments):
        self._set()

    def root(self, module):
        self._set()

    def _set(self):
        torch = self.session.torch
        precision = torch.get_float32_matmul_precision()
        if precision == "highest":
            torch.set_float32_matmul_precision("high")
            self.hit()
        elif not self.hits:
            self.inert("the program sets float32 matrix products to %r" % precision)


TREATMENT = Tf32

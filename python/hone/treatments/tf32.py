# SPDX-License-Identifier: Apache-2.0
"""Matrix products of float32 on the tensor cores, with a mantissa of 10 bits."""
from . import NUMERIC, Unfit, _model
from ._setting import Setting


class Tf32(Setting):
    name, title, risk = "tf32", "TF32 for float32 matrix products", NUMERIC
    line = 'torch.set_float32_matmul_precision("high")'
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

# SPDX-License-Identifier: Apache-2.0
"""torch.compile that tries several kernels for each product and keeps the fastest."""
from . import _compile


class CompileMaxAutotune(_compile.Compile):
    name, title = "compile-max-autotune", "torch.compile with a search for kernels"
    arguments = {"mode": "max-autotune"}
    trainer = {"transformers": {"torch_compile": "True", "torch_compile_mode": '"max-autotune"'}}
    extra_s = 120.0  # every product of every shape is timed with tens of kernels; an estimate

    @classmethod
    def require(cls, seen):
        _compile.require_graphs(seen)


TREATMENT = CompileMaxAutotune

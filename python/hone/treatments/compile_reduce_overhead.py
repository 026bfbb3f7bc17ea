# SPDX-License-Identifier: Apache-2.0
"""torch.compile with CUDA graphs: the host launches a graph instead of kernels."""
from . import _compile


class CompileReduceOverhead(_compile.Compile):
    name, title = "compile-reduce-overhead", "torch.compile with CUDA graphs"
    arguments = {"mode": "reduce-overhead"}
    trainer = {"transformers": {"torch_compile": "True", "torch_compile_mode": '"reduce-overhead"'}}

    @classmethod
    def require(cls, seen):
        _compile.require_graphs(seen)


TREATMENT = CompileReduceOverhead

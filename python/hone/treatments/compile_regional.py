# SPDX-License-Identifier: Apache-2.0
"""torch.compile of the block that a model repeats: compiled once, used by every instance."""
from . import Unfit, _compile, _model

_LINES = _model.for_blocks("block.compile()")


class CompileRegional(_compile.Compile):
    name, title = "compile-regional", "torch.compile of repeated blocks"
    since = (2, 5)  # before, every instance was compiled again
    # About as fast as the whole at 8B to 13B, slower at 1B; compiles in 2 to 3 s (accelerate's table).
    prior = 1.3
    extra_s = 10.0
    trainer = {}

    @classmethod
    def require(cls, seen):
        import torch

        if not any(_model.repeated_blocks(torch, module) for module in _model.roots(seen)):
            raise Unfit("the model is not made of repeated blocks")

    @classmethod
    def code(cls, seen, options):
        return _model.code_for(seen, _LINES)

    @classmethod
    def edits(cls, seen, options):
        return _model.edits_for(seen, _LINES)

    def put_in(self, torch, module):
        blocks = _model.repeated_blocks(torch, module)
        if not blocks and not self.hits:
            self.why = "the model is not made of repeated blocks"
        for block in blocks:
            if id(block) not in self.ours:
                self.compile(block)
                self.hit()


TREATMENT = CompileRegional

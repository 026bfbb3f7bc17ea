# SPDX-License-Identifier: Apache-2.0
"""torch.compile of the whole model."""
from . import _compile


class CompileDefault(_compile.Compile):
    name, title = "compile-default", "torch.compile"


TREATMENT = CompileDefault

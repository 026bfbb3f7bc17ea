# SPDX-License-Identifier: Apache-2.0
"""What the treatments share that are one line after a program's imports."""
from .. import _patch
from . import Treatment


class Setting(Treatment):
    line = ""  # that makes it permanent

    @classmethod
    def where(cls, seen):
        return _patch.told_path(seen.scripts[0]) if seen.scripts else ""

    @classmethod
    def code(cls, seen, options):
        return cls.line

    @classmethod
    def edits(cls, seen, options):
        return [_patch.insert_after_imports(seen.scripts[0], cls.code(seen, options))] if seen.scripts else []

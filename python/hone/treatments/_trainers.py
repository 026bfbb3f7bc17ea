# SPDX-License-Identifier: Apache-2.0
"""Programs whose loop is a library's (Hugging Face's Trainer, Lightning's): what makes a change permanent
there is an argument of the library's, not a line in a loop that the program does not have.

A treatment names these arguments by library: {"transformers": {"bf16": "True"}, "lightning": {…}}.
"""
import sys

from .. import _patch

# The class that takes a library's switches, by the modules that it may come from.
_SWITCHES = {
    "transformers": ("TrainingArguments", ("transformers.training_args",)),
    "lightning": ("Trainer", ("lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer")),
}


def library(seen):
    """"transformers", "lightning": who calls the model that is trained; "": the program itself."""
    return next((root.loop for root in seen.roots if root.loop), "")


def switches(seen, by_library):
    """The arguments that do it where a library owns the loop; None: it is the program's, or has none."""
    return (by_library or {}).get(library(seen)) or None


def code(seen, arguments):
    return "%s(%s)" % (_SWITCHES[library(seen)][0], ", ".join("%s=%s" % item for item in arguments.items()))


def where(seen):
    """The line where the program gives the library its switches, "" where that is not in sight."""
    return next((site for site, _ in _calls(seen)), "")


def edits(seen, arguments):
    for site, name in _calls(seen):
        return [_patch.add_keywords(site, name, arguments)]
    return [_patch.missing(seen.roots[0].site, code(seen, arguments),
                           "where the arguments of the Trainer are made is not in sight")]


def _calls(seen):
    """(site, name) of the calls of the library's class, or of one that is made of it."""
    name, homes = _SWITCHES[library(seen)]
    names = [name]
    for home in homes:
        kind = getattr(sys.modules.get(home), name, None)
        for derived in _derived(kind) if isinstance(kind, type) else ():
            if derived.__name__ not in names:
                names.append(derived.__name__)
    return [(site, one) for path in seen.scripts for one in names for site in _patch.find_call(path, one)]


def _derived(kind):
    for below in type.__subclasses__(kind):
        yield below
        yield from _derived(below)

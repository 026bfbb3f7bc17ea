# SPDX-License-Identifier: Apache-2.0
"""Programs whose loop is a library's (Hugging Face's Trainer, Lightning's): what makes a change permanent
there is an argument of the library's, not a line in a loop that the program does not have. Where the library
has none, lines stand before the statement that gives it the model.

A treatment names these arguments by library: {"transformers": {"bf16": "True"}, "lightning": {…}}.
"""
import sys

from .. import _patch

# The class that takes a library's switches, by the modules that it may come from.
_SWITCHES = {
    "transformers": ("TrainingArguments", ("transformers.training_args",)),
    "lightning": ("Trainer", ("lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer")),
}
_TRAINERS = ("transformers.trainer",)  # where Hugging Face's Trainer comes from
# What runs a loop: Lightning's Trainer is given the model there, Hugging Face's has it.
_RUNS = {"lightning": ("fit", "validate"), "transformers": ("train", "evaluate")}


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


def place(seen, root):
    """(site, name): the line before which a change to the model that a library was given belongs, and the
    model's name there. Raises _patch.Misfit."""
    if root.loop == "lightning":
        return root.entry, _given_to_lightning(root)
    made = _calls_of(seen, "Trainer", _TRAINERS)
    near = [call for call in made if _patch.same_function(call[0], root.entry)]
    for site, kind in near if len(near) == 1 else made if len(made) == 1 else ():
        try:
            return site, _patch.given_name(site, kind, "model")
        except _patch.Misfit:
            pass  # made in the call itself; by now the Trainer has it
    for run in _RUNS["transformers"]:
        trainer = _patch.owner_of_call(root.entry, run)
        if trainer.replace(".", "").isidentifier():
            return root.entry, trainer + ".model"
    raise _patch.Misfit("neither the model nor the Trainer has a name where they are made")


def _given_to_lightning(root):
    for run in _RUNS["lightning"]:
        if _patch.owner_of_call(root.entry, run):
            return _patch.given_name(root.entry, run, "model")
    raise _patch.Misfit("where the model is given to Lightning is not in sight")


def _calls(seen):
    """(site, name) of the calls of the class that takes the switches, or of one that is made of it."""
    return _calls_of(seen, *_SWITCHES[library(seen)])


def _calls_of(seen, name, homes):
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

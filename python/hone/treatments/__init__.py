# SPDX-License-Identifier: Apache-2.0
"""Treatments: known optimizations that are put into a program from outside, one file each.

A treatment declares what it is, finds out from a first run whether it has anything to do here, puts
itself into a program, and says afterwards whether it really took effect. It never leaves a program
half treated: what cannot be done safely raises Unfit, and the program runs as it would have.
"""
import importlib
import os

EXACT, NUMERIC, OPTIMIZATION = "exact", "numeric", "optimization"

# In the order in which they are put in: what others build on comes first.
NAMES = (
    "intra_op_threads", "cpu_affinity", "numa_binding", "allocator_settings",
    "loader_workers", "pinned_memory", "non_blocking_copies", "deferred_logging",
    "tf32", "cudnn_benchmark", "sdpa_attention", "channels_last", "gradient_checkpointing",
    "bf16_autocast", "fp16_autocast",
    "fused_optimizer", "foreach_optimizer", "set_to_none",
    "compile_default", "compile_reduce_overhead", "compile_max_autotune", "compile_regional",
    "compiled_autograd", "batch_size",
)


class Unfit(Exception):
    """This treatment has nothing to do here, or must not; the text says why, for people."""


class Treatment:
    name = ""      # "loader-workers"; the file is loader_workers.py
    title = ""     # "load data in worker processes"
    risk = EXACT
    group = ""     # at most one of a group stands in a recipe
    cures = ()     # rules of the doctor or words of hone whatif, what it is made for first: ("input-bound",)
    cures_all = False  # all of them at once; else the first that was found
    better_with = ()  # treatments without which it may well harm
    prior = 1.0    # factor to expect where nothing better is known, with its source in a comment
    extra_s = 0.0  # that a trial takes longer

    # In the describing run, when it ends. `seen` is a _seen.Seen.

    @classmethod
    def variants(cls, seen):
        """A list of (options, title), most promising first, or raises Unfit."""
        raise NotImplementedError

    @classmethod
    def rules(cls, seen):
        """`cures`, less those whose cause could not show in this program as it is."""
        return cls.cures

    @classmethod
    def expect(cls, seen, options):
        """The factor to expect here, where the run tells more than the usual `prior`."""
        return cls.prior

    @classmethod
    def at_most(cls, seen, options):
        """The largest factor that it could give here, whatever the doctor predicts; None: not known."""
        return None

    @classmethod
    def extra(cls, seen, options):
        """Seconds that a trial takes longer."""
        return cls.extra_s

    @classmethod
    def between(cls, options):
        """Whether it is only to be tried where the variant before it fits and the one after it does not."""
        return False

    @classmethod
    def where(cls, seen):
        """"train.py:30", the line that would change, or ""."""
        return ""

    @classmethod
    def code(cls, seen, options):
        """The change that makes it permanent, a line or a few, in the program's own names where known."""
        raise NotImplementedError

    @classmethod
    def edits(cls, seen, options):
        """A list of _patch.Edit for the program's own files; empty: only `code` can be told."""
        return []

    # In a trial.

    def __init__(self, session, options):
        self.session, self.options = session, options
        self.state, self.hits, self.why = "not applicable", 0, "nothing in the program asked for it"

    def install(self):
        """Before the program's first line, or when hone.apply is called: torch may or may not be there."""

    def loader_arguments(self, arguments, loader_class):
        """The arguments of a DataLoader, by name, as they shall be; before its __init__."""
        return arguments

    def optimizer_arguments(self, arguments, optimizer_class):
        """The same for an optimizer of torch.optim."""
        return arguments

    def optimizer_made(self, optimizer, arguments):
        """`arguments`: as the program gave them, by name."""

    def root(self, module):
        """Before the first call of each outermost module that is trained, and on its first call only."""

    def hit(self, count=1):
        self.state, self.why = "applied", ""
        self.hits += count

    def inert(self, why):
        """The program does this itself."""
        if self.state != "applied":
            self.state, self.why = "inert", why

    def unfit(self, why):
        """It must not be done here."""
        if self.state == "not applicable":
            self.why = why

    def failed(self, why):
        self.state, self.why = "failed", why


class Broken:
    """A treatment that could not be loaded."""

    def __init__(self, name, why):
        self.name, self.why = name, why


def load(name):
    """The class of a treatment by its name: "loader-workers"."""
    module = importlib.import_module(__name__ + "." + name.replace("-", "_"))
    return module.TREATMENT


def find(name, folder=""):
    """As load(), also among the files of a further folder, which come first."""
    path = os.path.join(folder, name.replace("-", "_") + ".py") if folder else ""
    return _load_file(path) if path and os.path.exists(path) else load(name)


def all_kinds(folder=""):
    """All classes in their order, those of the folder last; a Broken for each that is there and fails."""
    here = os.path.dirname(os.path.abspath(__file__))
    kinds = []
    paths = [os.path.join(here, name + ".py") for name in NAMES]
    if folder and os.path.isdir(folder):
        paths += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    for path in filter(os.path.exists, paths):
        name = os.path.basename(path)[:-3].replace("_", "-")
        try:
            kinds.append(load(name) if os.path.dirname(path) == here else _load_file(path))
        except Exception as trouble:
            kinds.append(Broken(name, "it could not be loaded: %r" % trouble))
    return kinds


def place(name):
    """Where a treatment stands among those of a recipe."""
    name = name.replace("-", "_")
    return NAMES.index(name) if name in NAMES else len(NAMES)


def _load_file(path):
    from importlib import util

    # In this package: `from . import Treatment` works in it as in ours.
    spec = util.spec_from_file_location(__name__ + "._own_" + os.path.basename(path)[:-3], path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TREATMENT

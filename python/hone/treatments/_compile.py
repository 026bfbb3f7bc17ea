# SPDX-License-Identifier: Apache-2.0
"""What the treatments by torch.compile share: Module.compile(), which keeps the keys of state_dict."""
import importlib.util
import os
import shutil
import sys

from . import NUMERIC, Treatment, Unfit, _model


class Compile(Treatment):
    risk, group = NUMERIC, "compile"
    cures, cures_all = ("launch-bound", "unfused-elementwise"), True
    # 1.41x in training over 180 models on an A100 (PyTorch 2, ASPLOS 2024).
    prior = 1.4
    extra_s = 30.0  # 10 to 23 s a model on a GPU (accelerate's table), and once more for the backward pass
    since = (2, 2)  # Module.compile
    arguments = {}
    trainer = {"transformers": {"torch_compile": "True"}}  # Lightning's has none

    @classmethod
    def variants(cls, seen):
        _model.require_root(seen)
        require_compiler(seen)
        import torch

        if _model.version(torch) < cls.since:
            raise Unfit("torch %s does not have it, %d.%d does" % ((torch.__version__,) + cls.since))
        if seen.compiled:
            raise Unfit("the program compiles itself")
        if not any(_why_not(torch, module) == "" for module in _model.roots(seen)):
            raise Unfit(next((_why_not(torch, m) for m in _model.roots(seen)), "the model is gone"))
        cls.require(seen)
        return [({}, cls.title)]

    @classmethod
    def require(cls, seen):
        """Raises Unfit; more that this form needs."""

    @classmethod
    def where(cls, seen):
        return _model.where(seen, cls.trainer)

    @classmethod
    def line(cls):
        return "{inner}.compile(%s)" % ", ".join("%s=%s" % (k, _text(v)) for k, v in cls.arguments.items())

    @classmethod
    def code(cls, seen, options):
        return _model.code_for(seen, cls.line(), cls.trainer)

    @classmethod
    def edits(cls, seen, options):
        return _model.edits_for(seen, cls.line(), cls.trainer)

    def __init__(self, session, options):
        super().__init__(session, options)
        self.ours = set()  # ids of modules that we compiled: they may be part of a further root

    def root(self, module):
        torch = self.session.torch
        why = _why_not(torch, module, self.ours)
        if why:
            self.inert(why)
        elif _model.version(torch) < self.since:
            self.why = "torch %s does not have it" % torch.__version__
        else:
            self.put_in(torch, module)

    def put_in(self, torch, module):
        # DistributedDataParallel's own forward is never traced: what it holds is compiled.
        self.compile(_model.inner(module))
        self.hit()

    def compile(self, module):
        module.compile(**self.arguments)
        self.ours.add(id(module))


def _text(value):
    return '"%s"' % value if isinstance(value, str) else repr(value)


def _why_not(torch, module, ours=()):
    if _model.is_compiled(module, ours):
        return "the program compiles itself"
    if any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
        return "the model is a TorchScript"
    return ""


def require_compiler(seen):
    """Found out before a trial is spent on it."""
    if seen.device == "cpu":
        given = os.environ.get("CXX")
        names = (given,) if given else ("g++", "clang++", "g++-10", "c++") if sys.platform != "win32" else ("cl",)
        if not any(map(shutil.which, names)):
            raise Unfit("there is no C++ compiler, which torch.compile needs on the CPU")
    elif importlib.util.find_spec("triton") is None:
        raise Unfit("there is no triton, which torch.compile needs on a GPU")
    elif seen.capability is not None and tuple(seen.capability) < (7, 0):
        raise Unfit("torch.compile needs compute capability 7.0, this GPU has %d.%d" % tuple(seen.capability[:2]))


def require_graphs(seen):
    """For CUDA graphs."""
    _model.require_cuda(seen)
    if any(root.shapes_vary for root in seen.roots):
        raise Unfit("the shapes of the inputs vary: a CUDA graph would be recorded for each")

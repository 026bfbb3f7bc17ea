# SPDX-License-Identifier: Apache-2.0
"""torch.compile of the model, and of the whole backward pass as one graph, hooks and accumulation included."""
from .. import _patch
from . import Unfit, _compile, _model

_CONFIGURATION = "torch._dynamo.config.compiled_autograd = True"
_HEADER = "with torch._dynamo.compiled_autograd._enable(torch.compile)"


class CompiledAutograd(_compile.Compile):
    name, title = "compiled-autograd", "torch.compile with compiled autograd"
    since = (2, 5)
    prior = 1.4  # as torch.compile: no figure of its own is published
    extra_s = 40.0
    trainer = {}

    @classmethod
    def require(cls, seen):
        if not seen.optimizers or seen.backwards_per_step == 0:
            raise Unfit("there is no backward pass")
        for root in seen.roots:
            why = _hooks(root.module) if root.module is not None else ""
            if why:
                raise Unfit(why)

    @classmethod
    def line(cls):
        return "{inner}.compile()"

    @classmethod
    def code(cls, seen, options):
        return "%s\n%s\n%s:\n    loss.backward()" % (_CONFIGURATION, super().code(seen, options), _HEADER)

    @classmethod
    def edits(cls, seen, options):
        edits = super().edits(seen, options)
        for call in seen.backward_calls:
            if not call.how:
                edits.append(_patch.missing(call.site, _HEADER, "backward is called by a library"))
                continue
            edits += [_patch.insert_after_imports(_patch.path_of(call.site), _CONFIGURATION),
                      _patch.wrap_statement(call.site, _HEADER)]
        return _patch.together(edits) if seen.backward_calls else []

    def __init__(self, session, options):
        super().__init__(session, options)
        self._active = False

    def install(self):
        self.session.after_import("torch.autograd", lambda module: self.session.patch(
            module, "backward", self._make_backward))

    def _make_backward(self, original):
        def backward(*args, **kwargs):
            if not self._active:
                return original(*args, **kwargs)
            torch = self.session.torch
            # The configuration covers calls of compiled functions; a backward pass outside of one wants this.
            with self.session.roots.aside(), torch._dynamo.compiled_autograd._enable(torch.compile):
                original(*args, **kwargs)
            if not self.hits and torch._dynamo.utils.counters["compiled_autograd"]["captures"]:
                self.hit()

        return backward

    def put_in(self, torch, module):
        import torch._dynamo.compiled_autograd
        import torch._dynamo.config

        why = _hooks(module)
        if why:
            self.why = why
        elif not hasattr(torch._dynamo.config, "compiled_autograd"):
            self.why = "torch %s does not have it" % torch.__version__
        else:
            torch._dynamo.config.compiled_autograd = True
            self.compile(module)
            self._active = True
            self.why = "no backward pass was captured"


def _hooks(module):
    if _model.is_wrapped(module, "DistributedDataParallel", "FullyShardedDataParallel"):
        return "%s acts by hooks on gradients" % type(module).__name__
    for part in module.modules():
        if part._backward_hooks or getattr(part, "_backward_pre_hooks", None):
            return "%s has backward hooks" % type(part).__name__
    if any(p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None) for p in module.parameters()):
        return "parameters have hooks on their gradients"
    return ""


TREATMENT = CompiledAutograd

# SPDX-License-Identifier: Apache-2.0
"""Mixed precision with float16, and the scaling of gradients that it needs, run from outside.

The loss is not touched: the gradient that backward starts from is the scale instead of one, which is
the same. Before the optimizer steps, gradients are put back to their size, and a step whose gradients
are not finite is left out, all by torch's own GradScaler.
"""
import types

from .. import _patch
from . import Unfit, _autocast, _model, _trainers


class Fp16Autocast(_autocast.Autocast):
    name, title, dtype = "fp16-autocast", "float16 mixed precision (autocast, gradient scaling)", "float16"
    trainer = {"transformers": {"fp16": "True"}, "lightning": {"precision": '"16-mixed"'}}
    # 1.25x with fused AdamW on t5-base (pytorch#96755), with a loss that was worse there: the guard decides.
    prior = 1.25

    @classmethod
    def variants(cls, seen):
        _model.require_cuda(seen, (7, 0), "fast float16")
        cls.require(seen)
        if seen.scaler_used:
            raise Unfit("the program scales its gradients itself")
        if seen.clips_gradients:
            raise Unfit("the program clips its gradients, which would be scaled")
        if seen.closures:
            switches = _trainers.switches(seen, cls.trainer)
            raise Unfit("the optimizer is given a closure, inside of which nobody can scale from outside%s"
                        % (": try %s by hand" % _trainers.code(seen, switches) if switches else ""))
        if len(seen.optimizers) != 1:
            raise Unfit("gradients can be scaled from outside for one optimizer, there are %d"
                        % len(seen.optimizers))
        if seen.backwards_per_step > 1.01:
            raise Unfit("the program calls backward %.1f times a step" % seen.backwards_per_step)
        if any(root.kind == "FullyShardedDataParallel" for root in seen.roots):
            raise Unfit("FullyShardedDataParallel needs a scaler of its own")
        return [({}, cls.title)]

    @classmethod
    def code(cls, seen, options):
        first = super().code(seen, options)
        if _trainers.switches(seen, cls.trainer):
            return first
        optimizer = _name(seen.step_calls, "step") or "optimizer"
        return ("scaler = %s\n%s\nscaler.scale(loss).backward()\nscaler.step(%s)\nscaler.update()"
                % (_scaler_text(seen), first, optimizer))

    @classmethod
    def edits(cls, seen, options):
        if _trainers.switches(seen, cls.trainer):
            return super().edits(seen, options)
        try:
            backward = _only(seen.backward_calls, "backward is called")
            step = _only(seen.step_calls, "the optimizer is stepped")
            for path in map(_patch.told_path, seen.scripts):
                if path != _patch.path_of(backward.site) and _patch.find_call(path, "backward"):
                    raise _patch.Misfit("backward is called in %s too" % path)
            name = _patch.unused_name(backward.site, "scaler", "grad_scaler")
            if not name:
                raise _patch.Misfit("the names scaler and grad_scaler are taken")
        except _patch.Misfit as why:
            site = next((call.site for call in (*seen.backward_calls, *seen.step_calls)), "")
            return [_patch.missing(site, _scaler_text(seen), str(why))]
        split = any(_patch.same_statement(root.site, backward.site) for root in seen.roots)
        return _patch.together([
            _patch.make_scaler(seen.optimizers[0].site if seen.optimizers else "", [backward.site, step.site],
                               "%s = %s" % (name, _scaler_text(seen))),
            *cls.wraps(seen, name, backward.site),
            _patch.scale_backward(backward.site, name, backward.how == "method", split),
            _patch.scale_step(step.site, name)])

    def __init__(self, session, options):
        super().__init__(session, options)
        self._scaler = None
        self._optimizer = None
        self._active = False   # a root runs under our autocast
        self._scaled = False   # a backward since the last step
        self._stepping = False

    def install(self):
        self.session.after_import("torch.autograd", self._autograd_is_here)

    def _autograd_is_here(self, module):
        self.session.patch(module, "backward", self._make_backward)

    def _make_backward(self, original):
        def backward(tensors, grad_tensors=None, *args, **kwargs):
            if self._active and not self._stepping:
                grad_tensors = self._start(self.session.torch, tensors, grad_tensors)
                self._scaled = True
            return original(tensors, grad_tensors, *args, **kwargs)

        return backward

    def _start(self, torch, tensors, gradients):
        """The gradients that backward starts from, scaled."""
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        if gradients is None or isinstance(gradients, torch.Tensor):
            gradients = [gradients] * len(tensors)
        ones = [torch.ones_like(tensor) if given is None else given.detach()
                for tensor, given in zip(tensors, gradients)]
        return [self._scaler.scale(one).to(one.dtype) for one in ones]

    def optimizer_made(self, optimizer, arguments):
        if self._optimizer is not None:
            self._give_up("the program has several optimizers")
            return
        self._optimizer = optimizer
        step = optimizer.step.__func__

        # A bound method with a __func__: schedulers wrap it again.
        def scaled_step(optimizer, *args, **kwargs):
            return self._step(step, optimizer, args, kwargs)

        scaled_step.hooked = True
        optimizer.step = types.MethodType(scaled_step, optimizer)

    def _step(self, step, optimizer, args, kwargs):
        if self._stepping or not self._scaled:
            if args or kwargs.get("closure") is not None:
                self._give_up("the optimizer is given a closure")
            return step(optimizer, *args, **kwargs)
        self._scaled = False
        self._stepping = True  # the scaler calls the optimizer's step in its turn
        try:
            if all(p.grad is None for group in optimizer.param_groups for p in group["params"]):
                return step(optimizer, *args, **kwargs)
            self._scaler.unscale_(optimizer)  # also for fused ones, so that whoever looks sees true gradients
            answer = self._scaler.step(optimizer, *args, **kwargs)
            self._scaler.update()
            return answer
        finally:
            self._stepping = False

    def _give_up(self, why):
        self._active = False
        self.failed(why)

    def root(self, module):
        torch = self.session.torch
        if self._optimizer is None:
            self.why = "no optimizer was made before the model was called"
            return
        if self.state == "failed":
            return
        before = self.hits
        super().root(module)
        if self.hits > before and not self._active:
            self._scaler = _scaler(torch, _model.device_of(module))
            self._active = True


def _only(calls, what):
    """The one line of the program that does it."""
    if not calls or not calls[0].site:
        raise _patch.Misfit("where %s is not known" % what)
    if len(calls) > 1:
        raise _patch.Misfit("%s at %s" % (what, " and at ".join(call.site for call in calls)))
    if not calls[0].how:
        raise _patch.Misfit("%s by a library" % what)
    return calls[0]


def _name(calls, method):
    return _patch.owner_of_call(calls[0].site, method) if calls else ""


def _scaler_text(seen):
    import torch

    new = hasattr(torch.amp, "GradScaler")  # since 2.3
    return 'torch.amp.GradScaler("%s")' % seen.device if new else "torch.cuda.amp.GradScaler()"


def _scaler(torch, device):
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device)
    return torch.cuda.amp.GradScaler()


TREATMENT = Fp16Autocast

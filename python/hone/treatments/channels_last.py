# SPDX-License-Identifier: Apache-2.0
"""Images with their channels innermost, as convolutions on tensor cores want them."""
import weakref

from .. import _patch
from . import NUMERIC, Treatment, Unfit, _model


class ChannelsLast(Treatment):
    name, title, risk = "channels-last", "channels-last layout of images", NUMERIC
    cures = ("layout-conversion",)
    better_with = ("bf16-autocast", "fp16-autocast")
    # 22 % on ResNet-50, 8 to 35 % on its family with mixed precision (PyTorch's tutorial, V100); slower
    # than nothing in float32 without tensor cores.
    prior = 1.1

    @classmethod
    def variants(cls, seen):
        import torch

        if seen.device == "cuda":
            _model.require_cuda(seen, (7, 0), "channels-last convolution on tensor cores")
        models = [module for module in _model.roots(seen) if _convolutions(torch, module)]
        if not models:
            raise Unfit("the model has no Conv2d")
        if all(_is_last(torch, module) for module in models):
            raise Unfit("the model is in channels-last layout already")
        return [({}, cls.title)]

    @classmethod
    def rules(cls, seen):
        # Conversions of layout are seen where convolutions run in half precision already.
        return cls.cures if seen.autocast else ()

    @classmethod
    def where(cls, seen):
        return _model.where(seen)

    @classmethod
    def code(cls, seen, options):
        names = [_patch.first_argument(root.site, root.name) for root in seen.roots if root.name]
        name = next(filter(None, names), "images")
        return (_model.code_for(seen, "{model}.to(memory_format=torch.channels_last)")
                + "\n%s = %s.to(memory_format=torch.channels_last)" % (name, name))

    @classmethod
    def edits(cls, seen, options):
        edits = _model.edits_for(seen, "{model}.to(memory_format=torch.channels_last)")
        for root in seen.roots:
            name = _patch.first_argument(root.site, root.name) if root.name else ""
            if name and any(_has_image(shape) for shape in root.input_shapes or ()):
                edits.append(_patch.insert_before(
                    root.site, "%s = %s.to(memory_format=torch.channels_last)" % (name, name)))
        return edits

    def __init__(self, session, options):
        super().__init__(session, options)
        self._optimizers = []

    def install(self):
        self.session.after_import("torch.nn.parallel.distributed", self._wait_for_buckets)

    def _wait_for_buckets(self, module):
        # Its buckets are laid out like the parameters when it is made; later would be too late.
        def make(original):
            def __init__(ddp, inside, *args, **kwargs):
                self._lay_out(inside)
                original(ddp, inside, *args, **kwargs)
            return __init__
        self.session.patch(module.DistributedDataParallel, "__init__", make)

    def optimizer_made(self, optimizer, arguments):
        self._optimizers.append(weakref.ref(optimizer))

    def root(self, module):
        torch = self.session.torch
        if _model.is_wrapped(module, "DistributedDataParallel"):
            if not _is_last(torch, module):
                self.why = "the buckets of DistributedDataParallel were laid out before"
                return
        elif not self._lay_out(module):
            return
        if _convolutions(torch, module):
            self.session.wrap_forward(module, self._with_images)

    def _lay_out(self, module):
        """True: the module wants its images so."""
        torch = self.session.torch
        if not _convolutions(torch, module):
            self.why = self.why if self.hits else "the model has no Conv2d"
            return False
        if _is_last(torch, module):
            if not self.hits:
                self.inert("the model is in channels-last layout already")
            return self.hits > 0
        with torch.inference_mode(False):  # parameters made inside of it could not be trained later
            module.to(memory_format=torch.channels_last)
        self._lay_out_states(torch)
        self.hit()
        return True

    def _lay_out_states(self, torch):
        # States that a checkpoint brought; new ones follow their parameter.
        for optimizer in filter(None, (ref() for ref in self._optimizers)):
            for parameter, state in optimizer.state.items():
                if getattr(parameter, "dim", int)() != 4:
                    continue
                for key, value in state.items():
                    if isinstance(value, torch.Tensor) and value.shape == parameter.shape:
                        state[key] = value.contiguous(memory_format=torch.channels_last)

    def _with_images(self, call, args, kwargs):
        return call(*[self._image(value) for value in args],
                    **{key: self._image(value) for key, value in kwargs.items()})

    def _image(self, value):
        torch = self.session.torch
        if isinstance(value, torch.Tensor) and value.dim() == 4 and value.is_floating_point():
            return value.contiguous(memory_format=torch.channels_last)
        return value


def _convolutions(torch, module):
    kinds = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
    return [part for part in module.modules() if isinstance(part, kinds) and part.weight.dim() == 4]


def _is_last(torch, module):
    weights = [part.weight for part in _convolutions(torch, module)]
    return all(w.is_contiguous(memory_format=torch.channels_last) for w in weights) and not all(
        w.is_contiguous() for w in weights)  # 1x1 convolutions are both


def _has_image(shape):
    """One call's input: a shape, or the shapes of several."""
    shape = tuple(shape) if not isinstance(shape, str) else (shape,)
    if len(shape) == 4 and all(isinstance(size, int) for size in shape):
        return True
    return any(len(part) == 4 for part in shape if isinstance(part, (tuple, list)))


TREATMENT = ChannelsLast

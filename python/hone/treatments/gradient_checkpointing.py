# SPDX-License-Identifier: Apache-2.0
"""Activations of the model's blocks are computed again in the backward pass instead of kept."""
from .. import _patch
from . import EXACT, Treatment, Unfit, _model

_TRAINER = {"transformers": {"gradient_checkpointing": "True"}}
# A method of each block: a copy of the model (copy.deepcopy, for averaged weights) gets its own, a compiler
# sees through it (not through functools.partial), and no module or parameter gets another name. It is called
# forward because pickle looks for it by that name in a model that is saved whole.
_FORWARD = """\
def forward(block, *args, **kwargs):
    return torch.utils.checkpoint.checkpoint(type(block).forward, block, *args, use_reentrant=False, **kwargs)

"""
_BLOCKS = _model.for_blocks("block.forward = types.MethodType(forward, block)")
_NEARLY_FULL = 0.8  # of the device's memory: below that there is nothing to buy with it


class GradientCheckpointing(Treatment):
    name, title, risk = "gradient-checkpointing", "gradient checkpointing of repeated blocks", EXACT
    cures = ("memory-pressure",)
    # 20 % slower (Hugging Face's guide): worth it only for the batch that it makes room for.
    prior = 0.8

    @classmethod
    def variants(cls, seen):
        _model.require_cuda(seen)
        _model.require_root(seen)
        if not seen.device_bytes or not seen.peak_device_bytes:
            raise Unfit("how full the GPU's memory was is not known")
        share = seen.peak_device_bytes / seen.device_bytes
        if share <= _NEARLY_FULL:
            raise Unfit("%.0f %% of the GPU's memory is used: there is room" % (100 * share))
        why = ""
        for module in _model.roots(seen):
            why = _why_not(module)
            if not why:
                return [({}, cls.title)]
        raise Unfit(why or "no model is left to look at")

    @classmethod
    def where(cls, seen):
        return _model.where(seen)

    @classmethod
    def code(cls, seen, options):
        if any(_is_hugging_face(module) for module in _model.roots(seen)):
            return _model.code_for(seen, "{inner}.gradient_checkpointing_enable()", _TRAINER)
        return _model.code_for(seen, _lines)

    @classmethod
    def edits(cls, seen, options):
        if any(_is_hugging_face(module) for module in _model.roots(seen)):
            return _model.edits_for(seen, "{inner}.gradient_checkpointing_enable()", _TRAINER)
        site, why = _model.where(seen), ""
        if any(root.kind == "DataParallel" for root in seen.roots):
            why = "copies that DataParallel makes would call the originals"
        elif _patch.binds_name(site, "forward"):
            why = "the name forward is taken in this file"
        if why:
            return [_patch.missing(site, _FORWARD, why)]
        return _model.edits_for(seen, _lines)

    def root(self, module):
        torch = self.session.torch
        inner = _model.inner(module)
        why = _why_not(inner)
        if why:
            if "itself" in why:
                self.inert(why)
            elif not self.hits:
                self.why = why
        elif _is_hugging_face(inner):
            inner.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            self.hit()
        else:
            from torch.utils.checkpoint import checkpoint

            def around(call, args, kwargs):
                if not torch.is_grad_enabled():
                    return call(*args, **kwargs)
                return checkpoint(call, *args, use_reentrant=False, **kwargs)

            for block in _model.repeated_blocks(torch, inner):
                self.session.wrap_forward(block, around)
                self.hit()


def _lines(root):
    blocks = _BLOCKS(root)
    return blocks and _FORWARD + blocks


def _is_hugging_face(module):
    return hasattr(module, "gradient_checkpointing_enable") and getattr(
        module, "supports_gradient_checkpointing", False)


def _why_not(module):
    import torch

    kind = type(module).__name__
    if _is_hugging_face(module):
        return "%s checkpoints itself already" % kind if module.is_gradient_checkpointing else ""
    blocks = _model.repeated_blocks(torch, module)
    if not blocks:
        return "%s is not made of repeated blocks" % kind
    if _model.has(blocks[0], torch.nn.modules.batchnorm._BatchNorm):
        return "%s has BatchNorm, whose averages would be updated twice" % type(blocks[0]).__name__
    return ""


TREATMENT = GradientCheckpointing

# SPDX-License-Identifier: Apache-2.0
"""Fused attention (scaled_dot_product_attention) in models of Hugging Face that were built without it.

Attention that a program wrote itself is left alone, and so is nn.MultiheadAttention, which chooses by
itself.
"""
import sys

from .. import _patch
from . import NUMERIC, Treatment, Unfit, _model


class SdpaAttention(Treatment):
    name, title, risk = "sdpa-attention", "fused attention (SDPA)", NUMERIC
    cures = ("naive-attention",)
    # 3.4x on a step that is mostly attention (cfregly, chapter 13); attention is a part of most steps.
    prior = 1.3

    @classmethod
    def variants(cls, seen):
        models, why = [], "no model of Hugging Face's transformers was called"
        for root in seen.roots:
            for model in _outermost(root.module):
                reason = _why_not(model)
                if reason:
                    why = reason
                else:
                    models.append(model)
        if not models:
            raise Unfit(why)
        return [({}, "fused attention (SDPA) in %s" % type(models[0]).__name__)]

    @classmethod
    def where(cls, seen):
        for path in seen.scripts:
            for site in _patch.find_keyword(path, "attn_implementation", "eager"):
                return site
        return _model.where(seen)

    @classmethod
    def code(cls, seen, options):
        if any(_patch.find_keyword(path, "attn_implementation", "eager") for path in seen.scripts):
            return 'attn_implementation="sdpa"'
        return _model.code_for(seen, '{inner}.set_attn_implementation("sdpa")')

    @classmethod
    def edits(cls, seen, options):
        sites = [site for path in seen.scripts
                 for site in _patch.find_keyword(path, "attn_implementation", "eager")]
        if sites:
            return [_patch.replace_keyword(site, "attn_implementation", '"sdpa"') for site in sites]
        return _model.edits_for(seen, '{inner}.set_attn_implementation("sdpa")')

    def root(self, module):
        for model in _outermost(module):
            reason = _why_not(model)
            if not reason:
                _set(model)
                if model.config._attn_implementation == "sdpa":
                    self.hit()
                else:
                    self.failed("%s did not take it" % type(model).__name__)
            elif self.state != "applied":
                self.why = reason
                if model.config._attn_implementation != "eager":
                    self.inert(reason)


def _outermost(module):
    """The models of transformers in it that are not part of another."""
    found, inside = [], set()
    for part in module.modules() if module is not None else ():
        if id(part) in inside or not hasattr(getattr(part, "config", None), "_attn_implementation"):
            continue
        if hasattr(type(part), "_supports_sdpa"):
            found.append(part)
            inside.update(map(id, part.modules()))
    return found


def _why_not(model):
    kind, chosen = type(model).__name__, model.config._attn_implementation
    if chosen != "eager":
        return "%s uses %s attention already" % (kind, chosen)
    if not model._supports_sdpa:
        return "%s has no fused attention in this version of transformers" % kind
    if getattr(model.config, "output_attentions", False):
        return "%s gives its attention weights back, which fused attention does not have" % kind
    if _chosen_when_built(model):
        return "this version of transformers chooses the attention of %s when it is built" % kind
    return ""


def _chosen_when_built(model):
    # Before transformers 4.48 (and for some models later) a table of classes was asked in __init__.
    home = sys.modules.get(type(model).__module__)
    utils = sys.modules.get("transformers.modeling_utils")
    return (any(name.endswith("ATTENTION_CLASSES") for name in vars(home) if home is not None)
            or not hasattr(utils, "ALL_ATTENTION_FUNCTIONS"))


def _set(model):
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation("sdpa")
        return
    for part in model.modules():
        config = getattr(part, "config", None)
        if getattr(config, "_attn_implementation", None) == "eager":
            config._attn_implementation = "sdpa"


TREATMENT = SdpaAttention

# SPDX-License-Identifier: Apache-2.0
"""Mixed precision with bfloat16: float32's range, so no scaling of gradients."""
from . import Unfit, _autocast, _model


class Bf16Autocast(_autocast.Autocast):
    name, title, dtype = "bf16-autocast", "bfloat16 mixed precision (autocast)", "bfloat16"
    trainer = {"transformers": {"bf16": "True"}, "lightning": {"precision": '"bf16-mixed"'}}
    # 1.26x with fused AdamW on t5-base (pytorch#96755); 0.95x alone on ResNet-50 on an H200, which
    # its loader bounds.
    prior = 1.3

    @classmethod
    def variants(cls, seen):
        cls.require(seen)
        if seen.device == "cpu":
            if not cpu_has_bfloat16():
                raise Unfit("this CPU has no instructions for bfloat16")
        else:
            _model.require_cuda(seen, (8, 0), "fast bfloat16")
        return [({}, cls.title)]


def cpu_has_bfloat16():
    import torch

    for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        ask = getattr(getattr(torch, "cpu", None), name, None)
        if ask is not None and ask():
            return True
    return False


TREATMENT = Bf16Autocast

# SPDX-License-Identifier: Apache-2.0
"""Large-batch serving in bf16 under inference_mode."""
import torch

from parts import Block

LABEL = {"first": "healthy", "all": [], "fix": []}


def build(fixed, device):
    cpu = device == "cpu"
    batch, length, width, heads = (2, 8, 32, 2) if cpu else (32, 1024, 4096, 32)
    model = torch.nn.Sequential(*(Block(width, heads, device) for _ in range(1 if cpu else 3))).eval()
    tokens = torch.randn(batch, length, width, device=device, dtype=torch.bfloat16)

    @torch.inference_mode()
    def step():
        return model(tokens)

    return step

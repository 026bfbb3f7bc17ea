# SPDX-License-Identifier: Apache-2.0
"""Serving with gradients enabled: every activation is kept for a backward pass that never comes."""
import torch

from parts import Block

LABEL = {"first": "grad-in-inference", "all": ["grad-in-inference"], "fix": ["grad-in-inference"], "keep": "full"}


def build(fixed, device):
    cpu = device == "cpu"
    batch, length, width, heads = (2, 8, 32, 2) if cpu else (16, 1024, 2048, 16)
    model = torch.nn.Sequential(*(Block(width, heads, device) for _ in range(2 if cpu else 6))).eval()
    tokens = torch.randn(batch, length, width, device=device, dtype=torch.bfloat16)

    def step():
        with torch.inference_mode(fixed):
            return model(tokens)

    return step

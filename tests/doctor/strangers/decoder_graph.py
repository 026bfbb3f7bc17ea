# SPDX-License-Identifier: Apache-2.0
"""Decoding of a small transformer, one token a step, launch by launch; the fixed one replays a graph."""
import torch

from parts import Block, graphed

LABEL = {"first": "launch-bound", "all": ["launch-bound"], "fix": ["launch-bound"], "steps": 30}


def build(fixed, device):
    width, heads, depth, length = (64, 2, 2, 8) if device == "cpu" else (512, 8, 16, 128)
    blocks = torch.nn.ModuleList(Block(width, heads, device) for _ in range(depth))
    norm = torch.nn.LayerNorm(width, device=device, dtype=torch.bfloat16)
    head = torch.nn.Linear(width, 8000, bias=False, device=device, dtype=torch.bfloat16)
    x = torch.randn(4, length, width, device=device, dtype=torch.bfloat16)

    @torch.inference_mode()
    def step():
        hidden = x
        for block in blocks:
            hidden = block(hidden)
        return head(norm(hidden[:, -1])).softmax(-1).argmax(-1)

    return graphed(step, device) if fixed else step

# SPDX-License-Identifier: Apache-2.0
"""Attention written out with matmul, mask and softmax; the scores go through memory many times."""
import math

import torch

from parts import Block

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"]}


class HandWritten(Block):
    def forward(self, x):
        q, k, v = self.split(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device)
        scores = scores.masked_fill(ones.triu(1), float("-inf"))
        return self.finish(x, torch.softmax(scores, -1) @ v)


def build(fixed, device):
    cpu = device == "cpu"
    batch, length, width, heads = (2, 8, 32, 2) if cpu else (4, 2048, 1024, 16)
    kind = Block if fixed else HandWritten
    model = torch.nn.Sequential(*(kind(width, heads, device) for _ in range(1 if cpu else 4)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    tokens = torch.randn(batch, length, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(tokens).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

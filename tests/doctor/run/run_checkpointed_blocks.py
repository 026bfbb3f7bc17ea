# SPDX-License-Identifier: Apache-2.0
"""A transformer whose blocks are all checkpointed, though their activations are a few megabytes."""
import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

LABEL = {"first": "recomputed-activations", "all": ["recomputed-activations"], "fix": ["recomputed-activations"]}


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(128), torch.nn.LayerNorm(128)
        self.heads, self.out = torch.nn.Linear(128, 384), torch.nn.Linear(128, 128)
        self.wide, self.narrow = torch.nn.Linear(128, 512), torch.nn.Linear(512, 128)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.heads(self.before(x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    blocks = torch.nn.ModuleList(Block() for _ in range(6))
    optimizer = torch.optim.AdamW(blocks.parameters(), lr=1e-3, fused=True)
    rows = torch.randn(4, 128, 128)

    def step():
        x = rows
        for block in blocks:
            x = block(x) if fixed else checkpoint(block, x, use_reentrant=False)
        optimizer.zero_grad()
        x.square().mean().backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A music transformer trained on MIDI event tokens, 2048 events a piece."""
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

LABEL = {"first": "naive-attention", "all": ["naive-attention", "recomputed-activations"], "fix": ["naive-attention", "recomputed-activations"], "steps": 4}


class Attention(nn.Module):
    def __init__(self, width, heads, length, fixed):
        super().__init__()
        self.heads, self.fixed = heads, fixed
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("later", torch.ones(length, length, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if self.fixed:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            scores = scores.masked_fill(self.later, float("-inf"))
            y = torch.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, length, fixed):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, length, fixed)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class MusicTransformer(nn.Module):
    def __init__(self, events, length, width, depth, heads, fixed):
        super().__init__()
        self.fixed = fixed
        self.event = nn.Embedding(events, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, length, fixed) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, events)

    def forward(self, events):
        x = self.event(events) + self.place
        for block in self.blocks:
            x = block(x) if self.fixed else checkpoint(block, x, use_reentrant=False)
        return self.head(self.norm(x))


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, length, events, width, depth, heads = (2, 16, 32, 32, 2, 2) if cpu else (8, 2048, 512, 768, 8, 12)
    model = MusicTransformer(events, length, width, depth, heads, fixed).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    pieces = torch.randint(0, events, (4, batch, length + 1), device=device)
    done = 0

    def step():
        nonlocal done
        piece, done = pieces[done % 4], done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = model(piece[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step

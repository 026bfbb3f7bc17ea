# SPDX-License-Identifier: Apache-2.0
"""A decoder-only language model over 2048 tokens under bf16 autocast, its causal attention written by hand."""
import math

import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"], "steps": 10}


class Layer(nn.Module):
    def __init__(self, width, heads, mask, fixed):
        super().__init__()
        self.heads, self.fixed = heads, fixed
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.register_buffer("mask", mask, persistent=False)

    def attend(self, q, k, v):
        if self.fixed:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return torch.softmax(scores.masked_fill(self.mask, float("-inf")), -1) @ v

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, length, width, heads, depth, words = (2, 16, 32, 2, 2, 50) if cpu else (4, 2048, 1024, 16, 8, 32000)
    mask = torch.ones(length, length, dtype=torch.bool).triu(1)
    embed, place = nn.Embedding(words, width).to(device), nn.Embedding(length, width).to(device)
    layers = nn.Sequential(*(Layer(width, heads, mask, fixed) for _ in range(depth))).to(device)
    head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, words, bias=False)).to(device)
    weights = [weight for part in (embed, place, layers, head) for weight in part.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=3e-4, fused=True)
    text = torch.randint(0, words, (batch, length + 1), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = head(layers(embed(text[:, :-1]) + place.weight))
            loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step

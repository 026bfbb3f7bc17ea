# SPDX-License-Identifier: Apache-2.0
"""A weather transformer trained to step a global state of 69 variables forward in time."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 10}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Weather(nn.Module):
    def __init__(self, variables, patch, tokens, width, depth, heads):
        super().__init__()
        self.patch = patch
        inside = variables * patch * patch
        self.embed = nn.Linear(inside, width)
        self.place = nn.Parameter(torch.randn(tokens, width) * 0.02)
        self.lead = nn.Linear(1, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, inside)

    def patches(self, state):
        p = self.patch
        b, v, h, w = state.shape
        return state.view(b, v, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, v * p * p)

    def forward(self, patches, lead):
        x = self.embed(patches) + self.place + self.lead(lead)[:, None]
        for block in self.blocks:
            x = block(x)
        return patches + self.head(self.norm(x))


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, variables, height, across, patch, width, depth, heads = (
        (1, 3, 8, 16, 4, 32, 2, 2) if cpu else (4, 69, 128, 256, 4, 1536, 8, 12))
    rows, columns = height // patch, across // patch
    model = Weather(variables, patch, rows * columns, width, depth, heads).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)
    states = torch.randn(6, batch, variables, height, across, device=device, dtype=torch.bfloat16)
    leads = torch.rand(6, batch, 1, device=device)
    latitude = torch.linspace(-1.55, 1.55, rows, device=device).cos()
    area = (latitude / latitude.mean()).repeat_interleave(columns)[:, None]
    done = 0

    def step():
        nonlocal done
        i, done = done % 5, done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            ahead = model(model.patches(states[i]), leads[i])
        loss = ((ahead.float() - model.patches(states[i + 1]).float()).square() * area).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step

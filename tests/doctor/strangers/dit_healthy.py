# SPDX-License-Identifier: Apache-2.0
"""A diffusion transformer (DiT-B/2, latents of 32 x 32) trained under bf16 autocast, layers compiled; nothing is wrong with it."""
import itertools

import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 10, "timeout": 240}


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.steer = heads, nn.Linear(width, 6 * width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x, about):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.steer(F.silu(about))[:, None].chunk(6, -1)
        q, k, v = self.qkv(self.norm1(x) * (1 + scale1) + shift1).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + gate1 * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + gate2 * self.mlp(self.norm2(x) * (1 + scale2) + shift2)


class DiT(nn.Module):
    def __init__(self, side, classes, width, heads, depth):
        super().__init__()
        self.patch, self.classes = nn.Linear(16, width), nn.Embedding(classes + 1, width)
        self.place = nn.Parameter(torch.randn((side // 2) ** 2, width) * 0.02)
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 16)
        self.register_buffer("waves", torch.exp(torch.linspace(0, 7, 128)))

    def forward(self, latents, when, kinds):
        angles = when[:, None] * self.waves
        about = self.time(torch.cat([angles.sin(), angles.cos()], 1)) + self.classes(kinds)
        x = self.patch(F.pixel_unshuffle(latents, 2).flatten(2).transpose(1, 2)) + self.place
        for layer in self.layers:
            x = layer(x, about)
        return F.pixel_shuffle(self.head(self.norm(x)).transpose(1, 2).unflatten(2, (latents.shape[2] // 2, -1)), 2)


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, side, *sizes = (2, 8, 10, 32, 2, 2) if cpu else (64, 32, 1000, 768, 12, 12)
    model = DiT(side, *sizes).to(device)
    for layer in [] if cpu else model.layers:  # compiling takes too long for a mere try
        layer.compile()
    weights = list(model.parameters())
    average = [weight.detach().clone() for weight in weights]
    optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True)
    pool = [(torch.randn(batch, 4, side, side), torch.randint(0, sizes[0], (batch,))) for _ in range(4)]
    batches = itertools.cycle(pool if cpu else [tuple(part.pin_memory() for part in one) for one in pool])

    def step():
        latents, kinds = (part.to(device, non_blocking=True) for part in next(batches))
        when, noise = torch.rand(batch, device=device), torch.randn_like(latents)
        mixed = torch.lerp(latents, noise, when[:, None, None, None])
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            guess = model(mixed, when, kinds)
        F.mse_loss(guess.float(), noise - latents).backward()
        optimizer.step()
        torch._foreach_lerp_(average, [weight.detach() for weight in weights], 1e-4)

    return step

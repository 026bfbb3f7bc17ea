# SPDX-License-Identifier: Apache-2.0
"""A denoiser of residual blocks with group norms and attention, fp32 with TF32; the fixed one under bfloat16 autocast."""
import torch
from torch import nn

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 10}


class Residual(nn.Module):
    def __init__(self, width, groups):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(groups, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1),
                                  nn.GroupNorm(groups, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


class Attention(nn.Module):
    def __init__(self, width, groups, heads):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(groups, width), heads
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        seen = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(seen.transpose(-1, -2).reshape(b, c, h, w))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = True
    width, blocks, batch, size = (8, 1, 1, 8) if device == "cpu" else (256, 3, 16, 64)
    groups, heads = (2, 2) if device == "cpu" else (32, 8)
    layers = [nn.Conv2d(4, width, 3, padding=1)]
    layers += [Residual(width, groups) for _ in range(blocks)] + [nn.Conv2d(width, 2 * width, 3, 2, 1)]
    for _ in range(blocks):
        layers += [Residual(2 * width, groups), Attention(2 * width, groups, heads)]
    layers += [nn.ConvTranspose2d(2 * width, width, 2, 2)]
    layers += [Residual(width, groups) for _ in range(blocks)] + [nn.Conv2d(width, 4, 3, padding=1)]
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    noise = torch.randn(batch, 4, size, size, device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=fixed):
            loss = nn.functional.mse_loss(model(noise), noise)
        loss.backward()
        optimizer.step()

    return step

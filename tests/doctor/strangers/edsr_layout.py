# SPDX-License-Identifier: Apache-2.0
"""EDSR (32 residual blocks of 256 channels, pixel shuffle) trained to double images under bf16 autocast, not channels-last."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "layout-conversion", "all": ["layout-conversion"], "fix": ["layout-conversion"], "steps": 10}


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.add(x, self.conv2(F.relu(self.conv1(x), inplace=True)), alpha=0.1)


class EDSR(nn.Module):
    def __init__(self, width, depth, scale):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.Sequential(*(Residual(width) for _ in range(depth)), nn.Conv2d(width, width, 3, padding=1))
        self.up = nn.Sequential(nn.Conv2d(width, scale**2 * width, 3, padding=1), nn.PixelShuffle(scale))
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        x = self.enter(x)
        return self.leave(self.up(x + self.body(x)))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True  # all patches have one size
    batch, side, width, depth = (2, 12, 8, 2) if device == "cpu" else (32, 48, 256, 32)
    layout = torch.channels_last if fixed else torch.contiguous_format
    model = EDSR(width, depth, 2).to(device, memory_format=layout)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    small = torch.rand(batch, 3, side, side, device=device).to(memory_format=layout)
    large = torch.rand(batch, 3, 2 * side, 2 * side, device=device).to(memory_format=layout)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = F.l1_loss(model(small), large)
        loss.backward()
        optimizer.step()

    return step

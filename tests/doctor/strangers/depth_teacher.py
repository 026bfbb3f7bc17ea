# SPDX-License-Identifier: Apache-2.0
"""Monocular depth from street scenes with a convolutional encoder and decoder, and an average of the weights for evaluation."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "host-sync", "all": ["host-sync", "pageable-copy"], "fix": ["host-sync", "pageable-copy"], "steps": 10}


class Unit(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = nn.Identity() if inputs == outputs and stride == 1 else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


class DepthNet(nn.Module):
    def __init__(self, widths):
        super().__init__()
        ins = [3, *widths[:-1]]
        self.down = nn.ModuleList(nn.Sequential(Unit(i, o, 2), Unit(o, o)) for i, o in zip(ins, widths))
        self.up = nn.ModuleList(Unit(widths[i] + widths[i - 1], widths[i - 1]) for i in range(len(widths) - 1, 0, -1))
        self.head = nn.Conv2d(widths[0], 1, 3, padding=1)

    def forward(self, x):
        seen = []
        for stage in self.down:
            x = stage(x)
            seen.append(x)
        for unit, skip in zip(self.up, seen[-2::-1]):
            x = unit(torch.cat([F.interpolate(x, scale_factor=2), skip], 1))
        return F.interpolate(self.head(x).float(), scale_factor=2, mode="bilinear")[:, 0]


class AverageOnCPU:
    """Spares GPU memory."""

    def __init__(self, model, decay):
        self.decay = decay
        self.model = model
        self.shadow = {name: p.detach().cpu().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p.detach().cpu(), alpha=1 - self.decay)


class AverageOnDevice:
    def __init__(self, model, decay):
        self.decay = decay
        self.weights = list(model.parameters())
        self.shadow = [p.detach().clone() for p in self.weights]

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.shadow, self.weights, 1 - self.decay)


def silog(predicted, depth):
    d = predicted - depth.log()
    return torch.sqrt((d ** 2).mean() - 0.85 * d.mean() ** 2 + 1e-6)


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, height, width, widths = (1, 32, 32, [8, 16]) if cpu else (12, 256, 512, [64, 128, 256, 512, 768])
    model = DepthNet(widths).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    average = (AverageOnDevice if fixed else AverageOnCPU)(model, 0.999)
    scenes = [torch.rand(batch, 3, height, width, device=device).to(memory_format=torch.channels_last)
              for _ in range(4)]
    depths = torch.rand(4, batch, height, width, device=device) * 79 + 1
    done = 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = silog(model(scenes[i]), depths[i])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        average.update()
        return loss.detach()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A U-Net in bfloat16 autocast whose images and weights are not channels-last."""
import torch
from torch import nn

LABEL = {"first": "layout-conversion", "all": ["layout-conversion"], "fix": ["layout-conversion"], "steps": 10}


def twice(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
                         nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        widths = [width << i for i in range(depth)]
        self.down = nn.ModuleList(twice(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.join = nn.ModuleList(twice(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(nn.functional.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = self.join[i](torch.cat([self.up[i](x), kept[i]], 1))
        return self.head(x)


def build(fixed, device):
    cpu = device == "cpu"
    layout = torch.channels_last if fixed else torch.contiguous_format
    model = UNet(4 if cpu else 64, 2 if cpu else 5).to(device, memory_format=layout)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    shape = (1, 32, 32) if cpu else (8, 256, 256)
    images = torch.randn(shape[0], 3, *shape[1:], device=device).to(memory_format=layout)
    labels = torch.randint(0, 2, shape, device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Land cover from satellite tiles of twelve bands (a feature pyramid in bfloat16): the tiles come from pageable memory, and the network is NCHW."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "pageable-copy", "all": ["pageable-copy", "layout-conversion"], "fix": ["pageable-copy", "layout-conversion"], "steps": 15}


def conv(inputs, outputs, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Stage(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.down = conv(inputs, outputs, stride=2)
        self.body = nn.Sequential(conv(outputs, outputs), conv(outputs, outputs))

    def forward(self, x):
        x = self.down(x)
        return x + self.body(x)


class LandCover(nn.Module):
    def __init__(self, bands, width, classes, levels=4):
        super().__init__()
        widths = [width << i for i in range(levels)]
        self.stem = conv(bands, width, 5, 2)
        self.stages = nn.ModuleList(Stage(a, b) for a, b in zip([width, *widths], widths))
        self.lateral = nn.ModuleList(nn.Conv2d(w, 2 * width, 1) for w in widths)
        self.smooth = nn.ModuleList(conv(2 * width, 2 * width) for _ in widths[:-1])
        self.head = nn.Conv2d(2 * width, classes, 1)

    def forward(self, x):
        x, kept = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            kept.append(x)
        x = self.lateral[-1](kept[-1])
        for i in reversed(range(len(kept) - 1)):
            x = self.smooth[i](self.lateral[i](kept[i]) + F.interpolate(x, scale_factor=2, mode="nearest"))
        return self.head(x)  # a quarter of the tile's side


class Tiles:
    """An endless loader whose batches lie ready in the host's memory."""

    def __init__(self, batches, batch, bands, side, classes, pin):
        self.items = []
        for _ in range(batches):
            tile = torch.rand(batch, bands, side, side)
            cover = torch.randint(0, classes, (batch, side // 4, side // 4))
            self.items.append((tile.pin_memory(), cover.pin_memory()) if pin else (tile, cover))

    def __iter__(self):
        while True:
            yield from self.items


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, bands, side, width, classes = (1, 12, 64, 8, 4) if cpu else (48, 12, 256, 96, 11)
    layout = torch.channels_last if fixed else torch.contiguous_format
    model = LandCover(bands, width, classes).to(device, memory_format=layout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=1_000_000)
    weight = torch.linspace(0.5, 2.0, classes, device=device)
    mean = torch.full((1, bands, 1, 1), 0.5, device=device)
    tiles = iter(Tiles(4, batch, bands, side, classes, pin=fixed and not cpu))

    def step():
        tile, cover = next(tiles)
        tile = tile.to(device, non_blocking=fixed)
        cover = cover.to(device, non_blocking=fixed)
        x = ((tile - mean) / 0.29).to(memory_format=layout)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x).float(), cover, weight=weight)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        return loss.detach()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Land cover from airborne hyperspectral cubes of 224 bands: each step classifies the pixels of eight cubes from the host."""
import torch
from torch import nn

LABEL = {"first": "pageable-copy", "all": ["pageable-copy"], "fix": ["pageable-copy"], "steps": 10}


class SpectralNet(nn.Module):
    def __init__(self, bands, width, depth, classes):
        super().__init__()
        layers = [nn.Conv2d(bands, width, 1), nn.ReLU(inplace=True)]
        for _ in range(depth):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, classes, 1))

    def forward(self, x):
        return self.layers(x)


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, side, bands, width, depth, classes = (2, 16, 12, 8, 2, 4) if cpu else (8, 256, 224, 128, 4, 16)
    dtype = torch.bfloat16 if cpu else torch.float16
    model = SpectralNet(bands, width, depth, classes).to(device, dtype, memory_format=torch.channels_last).eval()
    # Reflectances as the sensor's software writes them: 16 bit, band interleaved by pixel.
    strips = [torch.randint(0, 10_000, (batch, side, side, bands), dtype=torch.int16) for _ in range(3)]
    covers = torch.empty(batch, side, side, dtype=torch.uint8, pin_memory=not cpu)
    if fixed and not cpu:
        strips = [strip.pin_memory() for strip in strips]
    done = 0

    @torch.inference_mode()
    def step():
        nonlocal done
        strip, done = strips[done % len(strips)], done + 1
        cubes = strip.to(device, non_blocking=True) if fixed else strip.to(device)
        x = cubes.permute(0, 3, 1, 2).to(dtype) * 1e-4  # channels last as it is
        covers.copy_(model(x).argmax(1).to(torch.uint8), non_blocking=True)
        if not cpu:
            torch.cuda.current_stream().synchronize()  # the map is written to disk now
        return covers

    return step

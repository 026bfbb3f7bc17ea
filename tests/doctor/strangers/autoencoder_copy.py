# SPDX-License-Identifier: Apache-2.0
"""A convolutional autoencoder in bfloat16 that is fed 77 MB of images a step from pageable memory."""
import torch
from torch import nn

LABEL = {"first": "pageable-copy", "all": ["pageable-copy"], "fix": ["pageable-copy"], "steps": 10}


def build(fixed, device):
    cpu = device == "cpu"
    width, batch, side = (8, 2, 32) if cpu else (96, 128, 224)
    model = nn.Sequential(
        nn.Conv2d(3, width, 4, stride=4), nn.GELU(), nn.Conv2d(width, 2 * width, 2, stride=2), nn.GELU(),
        nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.GELU(),
        nn.ConvTranspose2d(2 * width, width, 2, stride=2), nn.GELU(), nn.ConvTranspose2d(width, 3, 4, stride=4))
    model = model.to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    batches = [torch.randn(batch, 3, side, side) for _ in range(4)]
    if fixed and not cpu:
        batches = [one.pin_memory() for one in batches]
    count = 0

    def step():
        nonlocal count
        images = batches[count % 4].to(device, non_blocking=fixed)
        count += 1
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            x = images.to(memory_format=torch.channels_last)
            loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()

    return step

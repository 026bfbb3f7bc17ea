# SPDX-License-Identifier: Apache-2.0
"""Sequences are packed by a loop in plain Python before every step."""
import numpy as np
import torch

from parts import mlp

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "fix": ["python-hotspot"], "keep": "full"}


def pack_slowly(lengths, room):
    starts = [0] * len(lengths)
    used = 0
    for i, length in enumerate(lengths):
        if used % room + length > room:
            used += room - used % room
        starts[i] = used
        used += length
    return starts


def pack(lengths, room):
    return np.cumsum(np.minimum(lengths, room))


def build(fixed, device):
    cpu = device == "cpu"
    width = 32 if cpu else 2048
    model = mlp(width, 2 if cpu else 6, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    rows = torch.randn(width, width, device=device, dtype=torch.bfloat16)
    lengths = np.random.default_rng(0).integers(1, 512, 200 if cpu else 150_000)
    as_list = lengths.tolist()

    def step():
        if fixed:
            pack(lengths, 2048)
        else:
            pack_slowly(as_list, 2048)
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

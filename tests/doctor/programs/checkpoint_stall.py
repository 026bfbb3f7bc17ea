# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of the whole model is written in every second step, and training waits for it."""
import os
import tempfile

import torch

from parts import mlp

LABEL = {"first": "checkpoint-stall", "all": ["checkpoint-stall"], "fix": ["checkpoint-stall"], "multiple": 2}


def build(fixed, device):
    cpu = device == "cpu"
    width = 32 if cpu else 4096
    model = mlp(width, 2 if cpu else 4, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    rows = torch.randn(16 if cpu else 4096, width, device=device, dtype=torch.bfloat16)
    path = os.path.join(tempfile.gettempdir(), "checkpoint.pt")
    every = 1_000_000 if fixed else 2
    count = 0

    def step():
        nonlocal count
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1
        if count % every == 0:
            torch.save({"model": model.state_dict(), "step": count}, path)

    return step

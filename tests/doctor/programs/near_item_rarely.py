# SPDX-License-Identifier: Apache-2.0
"""The loss is read with .item() in every tenth step of a job that keeps the GPU busy: no problem."""
import torch

from parts import mlp

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["item-sync"],
         "multiple": 10, "schedule": {"wait": 1, "warmup": 2, "active": 10}}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (8192, 8192)
    model = mlp(width, 2 if cpu else 3, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)
    count, shown = 0, []

    def step():
        nonlocal count
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1
        if count % 10 == 0:
            shown.append(loss.item())

    return step

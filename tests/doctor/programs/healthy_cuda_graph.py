# SPDX-License-Identifier: Apache-2.0
"""A small model whose whole training step is one CUDA graph."""
import torch

from parts import graphed, mlp

LABEL = {"first": "healthy", "all": [], "fix": []}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (1024, 8192)
    model = mlp(width, 2 if cpu else 40, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return graphed(step, device)

# SPDX-License-Identifier: Apache-2.0
"""Every step's predictions are kept in a list, on the GPU, with their graph."""
import torch

from parts import mlp

LABEL = {"first": "memory-growth", "all": ["memory-growth"], "fix": ["memory-growth"], "keep": "full"}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (4096, 8192)
    model = mlp(width, 2 if cpu else 4, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)
    history = []

    def step():
        predicted = model(batch)
        loss = predicted.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.detach() if fixed else predicted)

    return step

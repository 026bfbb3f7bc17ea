# SPDX-License-Identifier: Apache-2.0
"""Every layer's output is checked with .item(), and the host waits for the GPU each time."""
import torch

from parts import mlp

LABEL = {"first": "item-sync", "all": ["item-sync"], "fix": ["item-sync"], "schedule": {"active": 3}}


def build(fixed, device):
    cpu = device == "cpu"
    width = 32 if cpu else 2048
    model = mlp(width, 2 if cpu else 16, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    rows = torch.randn(width, width, device=device, dtype=torch.bfloat16)
    worst = torch.zeros((), device=device, dtype=torch.bfloat16)

    def check(hidden):
        nonlocal worst
        with torch.no_grad():
            if fixed:
                worst = torch.maximum(worst, hidden.amax())
            elif hidden.amax().item() > 1e4 or hidden[0, 0].item() != hidden[0, 0].item():
                raise ValueError("the activations explode")

    def step():
        hidden = rows
        for layer in model:
            hidden = layer(hidden)
            check(hidden)
        loss = hidden.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

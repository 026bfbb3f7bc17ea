# SPDX-License-Identifier: Apache-2.0
"""A few pointwise operations between large products: a small share of the step, not worth fusing."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["unfused-elementwise"]}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (8192, 8192)
    how = {"device": device, "dtype": torch.bfloat16}
    first = torch.nn.Linear(width, width, bias=False, **how)
    second = torch.nn.Linear(width, width, bias=False, **how)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=1e-4, fused=True)
    batch = torch.randn(rows, width, **how)

    def step():
        hidden = first(batch)
        hidden = hidden * torch.sigmoid(hidden) + batch
        loss = second(hidden).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

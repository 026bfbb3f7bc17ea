# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.empty_cache() in every step gives the memory back that the next step asks for again."""
import torch

from parts import mlp

LABEL = {"first": "allocator-churn", "all": ["allocator-churn"], "fix": ["allocator-churn"], "keep": "full"}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (2048, 16384)
    model = mlp(width, 2 if cpu else 10, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not fixed and not cpu:
            torch.cuda.empty_cache()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Large bf16 matrix products with a fused optimizer: nothing to fix."""
import torch

from parts import mlp

LABEL = {"first": "healthy", "all": [], "fix": []}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (8192, 16384)
    model = mlp(width, 2 if cpu else 3, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

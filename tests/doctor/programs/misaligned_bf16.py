# SPDX-License-Identifier: Apache-2.0
"""bf16 matrix products with odd sizes, whose rows are not aligned to 16 bytes."""
import torch

from parts import mlp

LABEL = {"first": "misaligned-shapes", "all": ["misaligned-shapes"], "fix": ["misaligned-shapes"]}


def build(fixed, device):
    cpu = device == "cpu"
    width = 32 if cpu else 4096
    if not fixed:
        width -= 1
    model = mlp(width, 2 if cpu else 5, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    rows = torch.randn(16 if cpu else 8192, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

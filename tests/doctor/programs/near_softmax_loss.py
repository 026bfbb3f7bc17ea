# SPDX-License-Identifier: Apache-2.0
"""A softmax in the loss only, after large products; there is no attention to replace."""
import torch

from parts import mlp

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["naive-attention"]}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (8192, 8192)
    model = mlp(width, 2 if cpu else 3, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)
    labels = torch.randint(0, width, (rows, 1), device=device)

    def step():
        chances = torch.softmax(model(batch), -1)
        loss = -chances.gather(1, labels).clamp_min(1e-6).log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

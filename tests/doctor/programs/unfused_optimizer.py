# SPDX-License-Identifier: Apache-2.0
"""Adam updates its parameters one by one (foreach=False), a dozen kernels for each."""
import torch

from parts import mlp

LABEL = {"first": "unfused-optimizer", "all": ["unfused-optimizer"], "fix": ["unfused-optimizer"],
         "schedule": {"active": 2}}


def build(fixed, device):
    cpu = device == "cpu"
    width = 32 if cpu else 2048
    model = mlp(width, 2 if cpu else 28, device)
    how = {"fused": True} if fixed else {"foreach": False}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, **how)
    rows = torch.randn(width, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

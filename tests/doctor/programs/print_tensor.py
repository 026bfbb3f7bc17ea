# SPDX-License-Identifier: Apache-2.0
"""Tensors on the GPU are printed in every step; printing reads them back again and again."""
import torch

from parts import mlp

LABEL = {"first": "item-sync", "all": ["item-sync"], "fix": ["item-sync"], "schedule": {"active": 3}}


def build(fixed, device):
    cpu = device == "cpu"
    width = 32 if cpu else 4096
    model = mlp(width, 2 if cpu else 4, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    rows = torch.randn(width, width, device=device, dtype=torch.bfloat16)

    def step():
        hidden = rows
        for layer in model:
            hidden = layer(hidden)
            if not fixed and isinstance(layer, torch.nn.Linear):
                print("hidden", hidden[0, :8])
        loss = hidden.square().mean()
        if not fixed:
            print("loss", loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

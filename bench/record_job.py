#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training job for the CPU: many short operators, so what each costs shows."""
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(64, 64), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=False)
batch = torch.randn(16, 64)
for _ in range(1000):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()

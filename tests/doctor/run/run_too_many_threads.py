# SPDX-License-Identifier: Apache-2.0
"""Convolutions with eight intra-op threads for each core, as a copied set_num_threads of a larger machine gives."""
import os

import torch

LABEL = {"first": "cpu-oversubscribed", "all": ["cpu-oversubscribed"], "fix": ["cpu-oversubscribed"]}


def build(fixed, device):
    cores = len(os.sched_getaffinity(0))
    # Fixed as the remedy says. As many as cores would do on a machine that nobody else uses.
    torch.set_num_threads(max(1, cores // 2) if fixed else 8 * cores)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    images = torch.randn(8, 16, 32, 32)

    def step():
        loss = model(images).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

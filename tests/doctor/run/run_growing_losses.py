# SPDX-License-Identifier: Apache-2.0
"""Losses are kept as tensors in a list and summed up anew in every step."""
import torch
import torch.nn.functional as F

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "says": "grows with every step", "fix": ["python-hotspot"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows, classes, losses = torch.randn(64, 64), torch.randint(0, 10, (64,)), []

    def step():
        loss = F.cross_entropy(model(rows), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() if fixed else loss)
        return sum(losses) / len(losses)

    return step

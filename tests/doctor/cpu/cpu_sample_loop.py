# SPDX-License-Identifier: Apache-2.0
"""A model is called on each sample of its batch, and the losses are added up."""
import torch
import torch.nn.functional as F

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "says": "at a time", "fix": ["python-hotspot"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows, classes = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def step():
        if fixed:
            loss = F.cross_entropy(model(rows), classes)
        else:
            loss = 0.0
            for i in range(len(rows)):
                loss = loss + F.cross_entropy(model(rows[i : i + 1]), classes[i : i + 1]) / len(rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

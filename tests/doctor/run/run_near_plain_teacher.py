# SPDX-License-Identifier: Apache-2.0
"""Near miss: a student learns from a model that is written as a plain function, and no gradient goes back through that."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["python-hotspot"]}


def teach(weights, rows):
    for weight in weights[:-1]:
        rows = torch.relu(rows @ weight)
    return rows @ weights[-1]


def distance(out, target):
    return (out - target).square().mean()


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, fused=True)
    weights = [torch.randn(256, 512) / 16, torch.randn(512, 512) / 16, torch.randn(512, 16) / 16]
    rows = torch.randn(512, 256)

    def step():
        with torch.no_grad():
            target = teach(weights, rows)
        loss = distance(model(rows), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

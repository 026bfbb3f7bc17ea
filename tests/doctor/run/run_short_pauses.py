# SPDX-License-Identifier: Apache-2.0
"""A function in plain Python before each of 400 small operators: no pause is long, together they are the step."""
import math

import torch

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "fix": ["python-hotspot"]}


def reward(i):
    return sum([math.tanh(0.01 * i * j) for j in range(200)])


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    known = [reward(i) for i in range(400)]

    def step():
        rows = [torch.full((64,), known[i] if fixed else reward(i)) for i in range(400)]
        loss = model(torch.stack(rows)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

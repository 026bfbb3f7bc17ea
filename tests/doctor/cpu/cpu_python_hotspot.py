# SPDX-License-Identifier: Apache-2.0
"""A loop in plain Python counts pairs before every training step."""
import numpy as np
import torch

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "fix": ["python-hotspot"], "keep": "full"}


def count_rises_slowly(values):
    rises = 0
    previous = values[0]
    for value in values:
        if value > previous:
            rises += 1
        previous = value
    return rises


def build(fixed, device):
    torch.set_num_threads(1)
    values = np.random.default_rng(0).standard_normal(200_000)
    as_list = values.tolist()
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(64, 256)

    def step():
        if fixed:
            np.count_nonzero(values[1:] > values[:-1])
        else:
            count_rises_slowly(as_list)
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

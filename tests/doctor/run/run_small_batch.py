# SPDX-License-Identifier: Apache-2.0
"""Two samples a step: weights are read, gradients written and operators called for hardly any work."""
import torch
import torch.nn.functional as F

LABEL = {"first": "small-batch", "all": ["small-batch"], "fix": ["small-batch"], "samples": {"bad": 2, "fixed": 32}}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    batch = 32 if fixed else 2
    layers = [torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(1024, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    rows, classes = torch.randn(batch, 256), torch.randint(0, 10, (batch,))

    def step():
        loss = F.cross_entropy(model(rows), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Near miss: gradients are zeroed in place, so that every backward pass adds to what is there."""
import torch
import torch.nn.functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["missing-zero-grad", "unused-gradients"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 256) for _ in range(3)]
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    rows, goals = torch.randn(128, 256), torch.randn(128, 256)

    def step():
        optimizer.zero_grad(set_to_none=False)
        F.mse_loss(model(rows), goals).backward()
        optimizer.step()

    return step

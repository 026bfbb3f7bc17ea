# SPDX-License-Identifier: Apache-2.0
"""Near miss: gradients of eight micro-batches are added up, each with a backward pass of its own."""
import torch
import torch.nn.functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["python-hotspot", "unused-gradients", "missing-zero-grad"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 256) for _ in range(3)]
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    rows, goals = torch.randn(8, 64, 256), torch.randn(8, 64, 256)

    def step():
        optimizer.zero_grad()
        for i in range(len(rows)):
            (F.mse_loss(model(rows[i]), goals[i]) / len(rows)).backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Nobody calls zero_grad: every step adds its gradients to those of all steps before."""
import torch
import torch.nn.functional as F

LABEL = {"first": "missing-zero-grad", "all": ["missing-zero-grad"], "fix": []}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, fused=True)
    rows, goals = torch.randn(128, 256), torch.randn(128, 256)

    def step():
        if fixed:
            optimizer.zero_grad()
        F.mse_loss(model(rows), goals).backward()
        optimizer.step()

    return step

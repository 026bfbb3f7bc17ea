# SPDX-License-Identifier: Apache-2.0
"""Near miss: a small model on a batch that keeps its operators busy."""
import torch
import torch.nn.functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["small-batch", "python-hotspot"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    rows, classes = torch.randn(512, 64), torch.randint(0, 10, (512,))

    def step():
        loss = F.cross_entropy(model(rows), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

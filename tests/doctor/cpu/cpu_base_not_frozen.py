# SPDX-License-Identifier: Apache-2.0
"""Adapters of low rank are trained; the layers they stand beside were never frozen."""
import torch

LABEL = {"first": "unused-gradients", "all": ["unused-gradients"], "fix": ["unused-gradients"]}


class Adapted(torch.nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.base = torch.nn.Linear(width, width)
        self.down = torch.nn.Parameter(torch.randn(width, rank) / 100)
        self.up = torch.nn.Parameter(torch.zeros(rank, width))

    def forward(self, rows):
        return self.base(rows) + rows @ self.down @ self.up


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = []
    for _ in range(6):
        layers += [Adapted(512, 8), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers)
    learn = [parameter for name, parameter in model.named_parameters() if "base" not in name]
    if fixed:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("base" not in name)
    optimizer = torch.optim.AdamW(learn, lr=1e-3, fused=True)
    rows = torch.randn(256, 512)

    def step():
        loss = (model(rows) - rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

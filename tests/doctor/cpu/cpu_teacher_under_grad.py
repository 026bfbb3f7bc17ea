# SPDX-License-Identifier: Apache-2.0
"""Distillation whose teacher, large and never updated, takes part in the backward pass."""
import torch
import torch.nn.functional as F

LABEL = {"first": "unused-gradients", "all": ["unused-gradients"], "fix": ["unused-gradients"]}


def network(width, depth):
    layers = [torch.nn.Linear(128, width)]
    for _ in range(depth):
        layers += [torch.nn.ReLU(), torch.nn.Linear(width, width)]
    return torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(width, 10))


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    student, teacher = network(128, 2), network(512, 4)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3, fused=True)
    rows = torch.randn(128, 128)

    def step():
        guesses = student(rows)
        with torch.set_grad_enabled(not fixed):
            targets = teacher(rows)
        loss = F.kl_div(F.log_softmax(guesses, 1), F.softmax(targets, 1), reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

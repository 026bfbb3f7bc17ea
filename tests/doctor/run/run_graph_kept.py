# SPDX-License-Identifier: Apache-2.0
"""Sampling with grad mode on: each step's input hangs on the graph of the one before, and all graphs are kept."""
import torch

LABEL = {"first": "grad-in-inference", "all": ["grad-in-inference"], "fix": ["grad-in-inference"], "not": ["memory-growth"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = []
    for _ in range(6):
        layers += [torch.nn.Linear(64, 64), torch.nn.SiLU(), torch.nn.LayerNorm(64)]
    model = torch.nn.Sequential(*layers).eval()
    x = torch.randn(256, 64)
    done = 0

    def step():
        nonlocal x, done
        done += 1
        if done % 400 == 0:
            x = x.detach()  # the next picture
        with torch.set_grad_enabled(not fixed):
            x = 0.9 * x + 0.1 * model(x)

    return step

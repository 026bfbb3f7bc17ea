# SPDX-License-Identifier: Apache-2.0
"""Serving on the CPU with gradients enabled; no backward pass ever comes."""
import torch

LABEL = {"first": "grad-in-inference", "all": ["grad-in-inference"], "fix": ["grad-in-inference"], "keep": "full"}


def build(fixed, device):
    torch.set_num_threads(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(512, 512), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers).eval()
    rows = torch.randn(256, 512)

    def step():
        with torch.inference_mode(fixed):
            return model(rows)

    return step

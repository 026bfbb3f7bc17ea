# SPDX-License-Identifier: Apache-2.0
"""LayerNorm and GELU are written by hand: long chains of kernels that only move memory."""
import math

import torch
import torch.nn.functional as F

LABEL = {"first": "unfused-elementwise", "all": ["unfused-elementwise"], "fix": ["unfused-elementwise"],
         "schedule": {"active": 3}}


def norm(x, scale, shift):
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).pow(2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5) * scale + shift


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def build(fixed, device):
    cpu = device == "cpu"
    rows, width, depth = (16, 32, 2) if cpu else (32768, 1024, 5)
    how = {"device": device, "dtype": torch.bfloat16}
    layers = torch.nn.ModuleList(torch.nn.Linear(width, width, **how) for _ in range(depth))
    scale = torch.nn.Parameter(torch.ones(width, **how))
    shift = torch.nn.Parameter(torch.zeros(width, **how))
    optimizer = torch.optim.SGD([*layers.parameters(), scale, shift], lr=1e-4, fused=True)
    batch = torch.randn(rows, width, **how)

    def step():
        x = batch
        for layer in layers:
            if fixed:
                x = x + F.gelu(layer(F.layer_norm(x, (width,), scale, shift)), approximate="tanh")
            else:
                x = x + gelu(layer(norm(x, scale, shift)))
        loss = x.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

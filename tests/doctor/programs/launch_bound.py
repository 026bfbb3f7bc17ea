# SPDX-License-Identifier: Apache-2.0
"""A recurrent cell written out step by step: hundreds of kernels too short for the host to keep up."""
import torch

from parts import graphed

LABEL = {"first": "launch-bound", "all": ["launch-bound"], "fix": ["launch-bound"], "schedule": {"active": 3}}


def build(fixed, device):
    cpu = device == "cpu"
    batch, width, times = (4, 8, 3) if cpu else (64, 128, 16)
    cell = torch.nn.Linear(2 * width, 2 * width, device=device, dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(cell.parameters(), lr=1e-4, fused=True)
    inputs = torch.randn(times, batch, width, device=device, dtype=torch.bfloat16)

    def step():
        hidden = torch.zeros(batch, width, device=device, dtype=torch.bfloat16)
        for x in inputs:
            gate, value = cell(torch.cat((x, hidden), 1)).chunk(2, 1)
            gate = gate.sigmoid()
            hidden = gate * hidden + (1 - gate) * value.tanh()
        loss = hidden.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return graphed(step, device) if fixed else step

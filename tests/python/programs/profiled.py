# SPDX-License-Identifier: Apache-2.0
"""Trains, with PyTorch's own profiler on for some steps, whose trace goes to FILE."""
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.DataLoader(torch.randn(128, 3, 8, 8), batch_size=8)


def steps():
    while True:
        yield from data


with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=3, warmup=2, active=8),
             on_trace_ready=lambda prof: prof.export_chrome_trace(sys.argv[1])) as prof:
    for _, batch in zip(range(16), steps()):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), torch.zeros(len(batch), dtype=torch.long))
        loss.backward()
        optimizer.step()
        prof.step()

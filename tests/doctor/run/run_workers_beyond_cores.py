# SPDX-License-Identifier: Apache-2.0
"""Four loader workers for each core sort signals all the time: the work is too much, not the workers."""
import os

import numpy as np
import torch

from parts import endless

# Fewer workers give nothing (39 batches in two seconds with 8 of them on 2 cores, 30 with 2).
LABEL = {"first": "input-bound", "all": ["input-bound"], "fix": []}


class Signals(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        wave = np.random.default_rng(i).standard_normal(200_000, dtype=np.float32)
        return torch.from_numpy(np.sort(wave)[:256].copy())


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    workers = 4 * len(os.sched_getaffinity(0))
    batches = endless(torch.utils.data.DataLoader(Signals(), batch_size=8, num_workers=workers))
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        loss = model(next(batches)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

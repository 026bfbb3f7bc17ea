# SPDX-License-Identifier: Apache-2.0
"""Training on the CPU waits for a dataset whose __getitem__ is heavier than the model."""
import numpy as np
import torch
import torch.nn.functional as F

from parts import endless

LABEL = {"first": "input-in-process", "all": ["input-in-process"], "fix": ["input-in-process"]}


class Signals(torch.utils.data.Dataset):
    def __len__(self):
        return 10_000_000

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        wave = np.sort(rng.standard_normal(20_000, dtype=np.float32))
        return torch.from_numpy(wave[:: len(wave) // 256][:256].copy()), i % 10


class Prepared(torch.utils.data.Dataset):
    """The same signals, computed once."""

    def __init__(self, count):
        self.signals = [Signals()[i] for i in range(count)]

    def __len__(self):
        return 10_000_000

    def __getitem__(self, i):
        return self.signals[i % len(self.signals)]


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Prepared(64) if fixed else Signals(), batch_size=16)
    batches = endless(loader)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        signals, labels = next(batches)
        loss = F.cross_entropy(model(signals), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

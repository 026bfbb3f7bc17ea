# SPDX-License-Identifier: Apache-2.0
"""Each sample waits 4 ms for a remote store, in the training's own process: nothing computes meanwhile."""
import time

import torch

from parts import endless

LABEL = {"first": "input-bound", "all": ["input-bound"], "fix": ["input-bound"]}


class Remote(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        time.sleep(0.004)
        return torch.full((256,), float(i % 7))


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    batches = endless(torch.utils.data.DataLoader(Remote(), batch_size=8, num_workers=8 if fixed else 0))
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        loss = model(next(batches)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

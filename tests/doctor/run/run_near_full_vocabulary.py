# SPDX-License-Identifier: Apache-2.0
"""A table as large, of which a step looks up a third: sparse gradients would be no faster."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["dense-embedding-gradients"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    words = torch.nn.Embedding(12_000, 64)
    tower = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    optimizer = torch.optim.SGD(list(words.parameters()) + list(tower.parameters()), lr=1e-2)

    def step():
        rows = torch.randint(0, 12_000, (4_000,))
        loss = tower(words(rows)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A recommender whose optimizer goes over all users and items, of which a step has few."""
import torch

LABEL = {"first": "dense-embedding-gradients", "all": ["dense-embedding-gradients"],
         "fix": ["dense-embedding-gradients"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    users = torch.nn.Embedding(60_000, 32, sparse=fixed)
    items = torch.nn.Embedding(20_000, 32, sparse=fixed)
    tower = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    tables, rest = [users.weight, items.weight], list(tower.parameters())
    if fixed:
        optimizers = [torch.optim.SparseAdam(tables, lr=1e-3), torch.optim.Adam(rest, lr=1e-3)]
    else:
        optimizers = [torch.optim.Adam(tables + rest, lr=1e-3)]

    def step():
        user, item = torch.randint(0, 60_000, (256,)), torch.randint(0, 20_000, (256,))
        score = tower(torch.cat([users(user), items(item)], 1)).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(score, (user % 2).float())
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()

    return step

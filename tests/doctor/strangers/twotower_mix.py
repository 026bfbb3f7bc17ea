# SPDX-License-Identifier: Apache-2.0
"""A two-tower recommender with wide MLPs in fp32 without TF32, fed 134 MB of dense features a step from pageable memory."""
import itertools

import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores", "pageable-copy"], "fix": ["no-tensor-cores", "pageable-copy"],
         "steps": 10}


class Tower(nn.Module):
    def __init__(self, rows, ids, given, hidden, out):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, ids, mode="mean")
        widths = [given + ids, *hidden]
        layers = [layer for a, b in zip(widths, hidden) for layer in (nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU(inplace=True))]
        self.body = nn.Sequential(*layers, nn.Linear(hidden[-1], out))

    def forward(self, ids, dense):
        return F.normalize(self.body(torch.cat([self.table(ids), dense], 1)), dim=1)


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
    cpu = device == "cpu"
    batch, rows, ids, users, items, hidden, out = (
        (8, 50, 4, 16, 24, (32, 16), 8) if cpu else (8192, 200_000, 128, 1024, 3072, (4096, 4096, 1024), 256))
    with torch.device(device):
        towers = nn.ModuleList([Tower(rows, ids, users, hidden, out), Tower(rows, ids, items, hidden, out)])
    optimizer = torch.optim.Adam(towers.parameters(), lr=1e-4, fused=True)
    pool = [(torch.randint(0, rows, (batch, 20)), torch.randn(batch, users), torch.randint(0, rows, (batch, 2)),
             torch.rand(batch, items)) for _ in range(3)]
    if fixed and not cpu:
        pool = [tuple(part.pin_memory() for part in one) for one in pool]
    batches = itertools.cycle(pool)
    pairs = torch.arange(batch, device=device)

    def step():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
        history, user, tags, item = (part.to(device, non_blocking=fixed) for part in next(batches))
        optimizer.zero_grad(set_to_none=True)
        likes = towers[0](history, user) @ towers[1](tags, item).t() * 20  # every other item of the batch is a wrong one
        F.cross_entropy(likes, pairs).backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Two ranks over gloo; rank 1 has more to compute, and rank 0 waits for it in every all-reduce."""
import os

import torch
import torch.distributed as dist

# Communication is exposed, too, but as a symptom: what rank 0 spends in it is waiting for rank 1.
LABEL = {"first": "straggler", "all": ["straggler"], "fix": ["straggler"], "ranks": 2}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    layers = [torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(64 if rank == 0 or fixed else 2048, 512)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

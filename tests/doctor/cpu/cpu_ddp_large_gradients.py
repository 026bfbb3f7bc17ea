# SPDX-License-Identifier: Apache-2.0
"""Two ranks over gloo with much to send and little to compute: DDP hides what it can, which is not much."""
import torch
import torch.distributed as dist

LABEL = {"first": "exposed-comm", "all": ["exposed-comm"], "fix": ["exposed-comm"], "ranks": 2}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(64, 1024)
    parts = 8 if fixed else 1  # gradients are gathered over these, and sent once

    def step():
        optimizer.zero_grad()
        with model.no_sync():
            for _ in range(parts - 1):
                model(rows).square().mean().backward()
        model(rows).square().mean().backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""The batch is pinned but copied without non_blocking, so the host waits for the GPU before its own work."""
import numpy as np
import torch

from parts import mlp

LABEL = {"first": "blocking-copy", "all": ["blocking-copy"], "fix": ["blocking-copy"]}


def build(fixed, device):
    cpu = device == "cpu"
    shape = (16, 32) if cpu else (8192, 2048)
    batches = [torch.randn(shape, dtype=torch.bfloat16) for _ in range(3)]
    if not cpu:
        batches = [batch.pin_memory() for batch in batches]
    model = mlp(shape[1], 2 if cpu else 36, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 2048, 100 if cpu else 60_000)
    count = 0

    def plan_buckets():
        order = np.argsort(lengths[rng.permutation(len(lengths))], kind="stable")
        return np.add.reduceat(lengths[order], np.arange(0, len(order), 64))

    def step():
        nonlocal count
        rows = batches[count % 3].to(device, non_blocking=fixed)
        count += 1
        plan_buckets()
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

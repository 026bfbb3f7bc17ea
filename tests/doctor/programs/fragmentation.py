# SPDX-License-Identifier: Apache-2.0
"""Small tensors that stay alive pin every segment of freed scratch: far more is reserved than used."""
import torch

from parts import mlp

LABEL = {"first": "fragmentation", "all": ["fragmentation"], "fix": ["fragmentation"], "keep": "full"}


def build(fixed, device):
    cpu = device == "cpu"
    width, rows = (32, 16) if cpu else (2048, 16384)
    model = mlp(width, 2 if cpu else 6, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)
    count, kept_bytes, scratch_bytes = (4, 64, 256) if cpu else (600, 3 << 19, 9 << 20)

    def statistics():
        # 1.5 MiB to keep and twice 9 MiB of scratch share one 20 MiB segment of the allocator.
        kept = torch.ones(kept_bytes, dtype=torch.uint8, device=device)
        scratch = [torch.ones(scratch_bytes, dtype=torch.uint8, device=device) for _ in range(2)]
        return kept, scratch

    if fixed:
        statistics_kept = list(torch.ones(count, kept_bytes, dtype=torch.uint8, device=device))
    else:
        everything = [statistics() for _ in range(count)]
        statistics_kept = [kept for kept, _ in everything]
        del everything

    def step():
        loss = model(batch).square().mean() + statistics_kept[0][0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Batches leave pinned memory on the stream of the kernels, which stand in line behind them."""
import torch

LABEL = {"first": "copy-unoverlapped", "all": ["copy-unoverlapped"], "fix": ["copy-unoverlapped"], "steps": 100}


def build(fixed, device):
    rows, width = (256, 64) if device == "cpu" else (8192, 2048)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(width, width, device=device, dtype=torch.bfloat16) for _ in range(16)]
    model = torch.nn.Sequential(*layers)
    batches = [torch.randn(rows, width) for _ in range(4)]
    if device == "cpu":
        return lambda: model(batches[0].to(torch.bfloat16)).square().mean().backward()
    batches = [batch.pin_memory() for batch in batches]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    coming = [None]
    count = [0]

    def fetch():
        count[0] += 1
        return batches[count[0] % len(batches)].to(device, non_blocking=True)

    def ahead():
        if coming[0] is None:
            coming[0] = fetch()
        main.wait_stream(side)
        ready = coming[0]
        ready.record_stream(main)
        with torch.cuda.stream(side):
            coming[0] = fetch()
        return ready

    def step():
        batch = ahead() if fixed else fetch()
        loss = model(batch.to(torch.bfloat16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

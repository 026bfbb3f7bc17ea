# SPDX-License-Identifier: Apache-2.0
"""A model whose layers live on the host: every step copies all of them, beside kernels that take less."""
import torch

LABEL = {"first": "transfer-bound", "all": ["transfer-bound"], "fix": ["transfer-bound"], "steps": 60}


def build(fixed, device):
    rows, width, depth = (16, 64, 4) if device == "cpu" else (512, 4096, 16)
    torch.manual_seed(0)
    dtype = torch.bfloat16 if fixed else torch.float32
    weights = [torch.randn(width, width).to(dtype) / width**0.5 for _ in range(depth)]
    x = torch.randn(rows, width, device=device)
    if device == "cpu":
        return lambda: [x.to(dtype) @ weight for weight in weights]
    weights = [weight.pin_memory() for weight in weights]
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()

    @torch.no_grad()
    def step():
        side.wait_stream(main)
        y = x.to(dtype)
        with torch.cuda.stream(side):
            coming = weights[0].to(device, non_blocking=True)
        for layer in range(depth):
            main.wait_stream(side)
            weight = coming
            weight.record_stream(main)
            if layer + 1 < depth:
                with torch.cuda.stream(side):
                    coming = weights[layer + 1].to(device, non_blocking=True)
            y = torch.tanh(y @ weight)
        return y.sum()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A compiled function takes a Python number that changes every step, so it is compiled again each time."""
import torch

LABEL = {"first": "recompile", "all": ["recompile"], "fix": ["recompile"], "lead": 0,
         "schedule": {"wait": 1, "warmup": 1, "active": 2}, "settings": ["light"], "timeout": 110}


def build(fixed, device):
    import torch._dynamo.config
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1
    torch._dynamo.config.recompile_limit = 100_000
    torch._dynamo.config.accumulated_recompile_limit = 100_000
    cpu = device == "cpu"
    width = 64 if cpu else 4096
    rows = torch.randn(width, width, device=device, dtype=torch.bfloat16)
    weight = torch.randn(width, width, device=device, dtype=torch.bfloat16)

    @torch.compile(dynamic=False)
    def warped(x, strength):
        return torch.tanh(x * strength) + x

    count = 0

    @torch.no_grad()
    def step():
        nonlocal count
        count += 1
        strength = torch.full((), float(count), device=device) if fixed else count
        return warped(rows @ weight, strength) @ weight

    return step

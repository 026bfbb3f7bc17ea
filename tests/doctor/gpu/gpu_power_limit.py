# SPDX-License-Identifier: Apache-2.0
"""Large bf16 products back to back: a large GPU works at its power limit, as it should."""
import torch

# Nothing in the program is wrong, and the doctor says whose limit it is.
LABEL = {"first": "gpu-throttled", "all": ["gpu-throttled"], "fix": [], "says": "power limit",
         "not": ["gpu-throttled"], "steps": 100}


def build(fixed, device):
    width, products = (64, 2) if device == "cpu" else (8192, 64)
    left, right = (torch.randn(width, width, device=device, dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(left)

    def step():  # about 0.1 s on an H200
        for _ in range(products):
            torch.mm(left, right, out=out)
        if device != "cpu":
            torch.cuda.synchronize()

    return step

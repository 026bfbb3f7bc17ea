# SPDX-License-Identifier: Apache-2.0
"""A compiled bf16 transformer over scaled_dot_product_attention with a fused optimizer."""
import torch

from parts import Block

LABEL = {"first": "healthy", "all": [], "fix": [], "timeout": 110}


def build(fixed, device):
    cpu = device == "cpu"
    batch, length, width, heads = (2, 8, 32, 2) if cpu else (8, 2048, 2048, 16)
    model = torch.nn.Sequential(*(Block(width, heads, device) for _ in range(1 if cpu else 6)))
    if not cpu:
        for block in model:
            block.compile()  # one block is compiled, the others share its code
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    tokens = torch.randn(batch, length, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(tokens).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

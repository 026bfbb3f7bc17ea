# SPDX-License-Identifier: Apache-2.0
"""Matrix products in fp32 with TF32 off, so no tensor core works."""
import torch

from parts import mlp

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"]}


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = fixed
    width, rows = (32, 16) if cpu else (4096, 8192)
    model = mlp(width, 2 if cpu else 3, device, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    batch = torch.randn(rows, width, device=device)

    def step():
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

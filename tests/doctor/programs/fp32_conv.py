# SPDX-License-Identifier: Apache-2.0
"""Convolutions in fp32 with TF32 forbidden."""
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"]}


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cudnn.allow_tf32 = fixed
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    batch, side = (2, 16) if cpu else (32, 224)
    model = conv_net(8 if cpu else 256, 1 if cpu else 4, device, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device=device)

    def step():
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""bf16 convolutions on NCHW tensors: cuDNN converts to NHWC and back around every one."""
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "layout-conversion", "all": ["layout-conversion"], "fix": ["layout-conversion"]}


def build(fixed, device):
    cpu = device == "cpu"
    layout = torch.channels_last if fixed else torch.contiguous_format
    batch, side = (2, 16) if cpu else (64, 448)
    model = conv_net(8 if cpu else 64, 1 if cpu else 8, device, layout=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    images = torch.randn(batch, 3, side, side, device=device, dtype=torch.bfloat16).to(memory_format=layout)
    labels = torch.randint(0, 1000, (batch,), device=device)

    def step():
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

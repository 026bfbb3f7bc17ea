# SPDX-License-Identifier: Apache-2.0
"""cudnn.benchmark is on while the image size changes every step, so cuDNN searches anew each time."""
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "autotune-in-loop", "all": ["autotune-in-loop"], "fix": ["autotune-in-loop"],
         "schedule": {"active": 3}, "timeout": 100}


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cudnn.benchmark = not fixed
    base, batch = (16, 2) if cpu else (192, 16)
    model = conv_net(8 if cpu else 128, 1 if cpu else 2, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    labels = torch.randint(0, 1000, (batch,), device=device)
    count = 0

    def step():
        nonlocal count
        high, wide = base + 4 * (count % 32), base + 4 * ((count + count // 32) % 31)
        count += 1
        images = torch.randn(batch, 3, high, wide, device=device, dtype=torch.bfloat16)
        loss = F.cross_entropy(model(images.to(memory_format=torch.channels_last)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

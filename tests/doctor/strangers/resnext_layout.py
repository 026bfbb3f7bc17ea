# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNeXt-50 in bfloat16 autocast, not channels-last."""
import torch
import torch.nn.functional as F

LABEL = {"first": "layout-conversion", "all": ["layout-conversion"], "fix": ["layout-conversion"], "steps": 10}


def build(fixed, device):
    from torchvision.models import resnext50_32x4d

    layout = torch.channels_last if fixed else torch.contiguous_format
    model = resnext50_32x4d().to(device, memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    images = torch.randn(128, 3, 224, 224, device=device).to(memory_format=layout)
    labels = torch.randint(0, 1000, (128,), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step

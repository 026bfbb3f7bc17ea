# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-50, bfloat16 and channels-last, trained with 8 images a step; the fixed one with 64."""
import torch
import torch.nn.functional as F

LABEL = {"first": "small-batch", "all": ["small-batch"], "fix": ["small-batch"], "steps": 10,
         "samples": {"bad": 8, "fixed": 64}}


def build(fixed, device):
    from torchvision.models import resnet50

    model = resnet50().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=device == "cuda")
    batch = (4 if fixed else 2) if device == "cpu" else (64 if fixed else 8)
    images = torch.randn(batch, 3, 224, 224, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step

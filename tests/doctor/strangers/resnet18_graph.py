# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-18 trained on 16 small images a step; the fixed one replays its step as a CUDA graph."""
import torch
import torch.nn.functional as F

from parts import graphed

LABEL = {"first": "launch-bound", "all": ["launch-bound"], "fix": ["launch-bound"], "steps": 20}


def build(fixed, device):
    from torchvision.models import resnet18

    torch.backends.cuda.matmul.allow_tf32 = True
    size = 32 if device == "cpu" else 96
    model = resnet18(num_classes=100).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=device == "cuda")
    images = torch.randn(16, 3, size, size, device=device)
    labels = torch.randint(0, 100, (16,), device=device)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return graphed(step, device) if fixed else step

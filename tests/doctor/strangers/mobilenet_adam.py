# SPDX-License-Identifier: Apache-2.0
"""torchvision's MobileNetV3-S trained with an Adam that updates one tensor after the other."""
import torch

from parts import image_training

LABEL = {"first": "unfused-optimizer", "all": ["unfused-optimizer"], "fix": ["unfused-optimizer"], "steps": 10}


def build(fixed, device):
    from torchvision.models import mobilenet_v3_small

    model = mobilenet_v3_small().to(device)
    how = {"fused": True} if fixed else {"foreach": False}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **how)
    return image_training(model, optimizer, 64, device)

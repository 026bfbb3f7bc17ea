# SPDX-License-Identifier: Apache-2.0
"""torchvision's DenseNet-121 trained with TF32 and an AdamW that updates one tensor after the other."""
import torch

from parts import image_training

LABEL = {"first": "unfused-optimizer", "all": ["unfused-optimizer"], "fix": ["unfused-optimizer"], "steps": 10}


def build(fixed, device):
    from torchvision.models import densenet121

    torch.backends.cuda.matmul.allow_tf32 = True
    model = densenet121().to(device)
    how = {"fused": True} if fixed else {"foreach": False}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **how)
    return image_training(model, optimizer, 32, device)

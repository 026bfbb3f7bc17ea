# SPDX-License-Identifier: Apache-2.0
"""torchvision's ConvNeXt-T trained in fp32 without TF32."""
import torch

from parts import image_training

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    from torchvision.models import convnext_tiny

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    model = convnext_tiny().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return image_training(model, optimizer, 32, device)

# SPDX-License-Identifier: Apache-2.0
"""torchvision's Swin-T trained in fp32 without TF32."""
import torch

from parts import image_training

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    from torchvision.models import swin_t

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    model = swin_t().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return image_training(model, optimizer, 64, device)

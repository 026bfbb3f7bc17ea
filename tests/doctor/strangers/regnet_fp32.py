# SPDX-License-Identifier: Apache-2.0
"""torchvision's RegNetY-1.6GF, grouped convolutions and gates, trained in fp32 without TF32."""
import torch

from parts import image_training

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    from torchvision.models import regnet_y_1_6gf

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    model = regnet_y_1_6gf().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=device == "cuda")
    return image_training(model, optimizer, 4 if device == "cpu" else 128, device)

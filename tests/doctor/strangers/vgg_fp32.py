# SPDX-License-Identifier: Apache-2.0
"""torchvision's VGG-16 with batch norm trained in fp32 without TF32."""
import torch

from parts import image_training

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    from torchvision.models import vgg16_bn

    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    torch.backends.cudnn.benchmark = True  # the images are all of one size
    model = vgg16_bn(weights=None).to(device)
    decay = [weight for weight in model.parameters() if weight.dim() > 1]
    plain = [weight for weight in model.parameters() if weight.dim() <= 1]  # biases and norms
    optimizer = torch.optim.SGD(
        [{"params": decay, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}],
        lr=0.01,
        momentum=0.9,
        fused=True,
    )
    return image_training(model, optimizer, 2 if device == "cpu" else 64, device)

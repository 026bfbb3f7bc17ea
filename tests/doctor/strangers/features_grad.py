# SPDX-License-Identifier: Apache-2.0
"""Features of images by torchvision's ViT-B/16 in bfloat16, with a graph of gradients that nobody asks for."""
import torch

LABEL = {"first": "grad-in-inference", "all": ["grad-in-inference"], "fix": ["grad-in-inference"], "steps": 30}


def build(fixed, device):
    from torchvision.models import vit_b_16

    model = vit_b_16().to(device, dtype=torch.bfloat16).eval()
    images = torch.randn(2 if device == "cpu" else 8, 3, 224, 224, device=device, dtype=torch.bfloat16)
    found = []

    def step():
        with torch.inference_mode(fixed):
            found[:] = [model(images).argmax(1)]

    return step

# SPDX-License-Identifier: Apache-2.0
"""torchvision's DeepLabV3 (ResNet-50) trained under bf16 autocast, images and weights in the default layout."""
import torch
import torch.nn.functional as F

LABEL = {"first": "layout-conversion", "all": ["layout-conversion"], "fix": ["layout-conversion"], "steps": 10}


def build(fixed, device):
    from torchvision.models.segmentation import deeplabv3_resnet50

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True  # all crops have one size
    batch, side = (2, 64) if device == "cpu" else (8, 512)
    layout = torch.channels_last if fixed else torch.contiguous_format
    model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21, aux_loss=True)
    model = model.to(device).to(memory_format=layout).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=layout)
    masks = torch.randint(0, 21, (batch, side, side), device=device)
    masks[:, :4] = 255  # the border counts for nothing

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            out = model(images)
            loss = F.cross_entropy(out["out"], masks, ignore_index=255)
            loss = loss + 0.5 * F.cross_entropy(out["aux"], masks, ignore_index=255)
        loss.backward()
        optimizer.step()

    return step

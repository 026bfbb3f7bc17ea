# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-101, bfloat16 and channels-last, trained by an AdamW that goes from tensor to tensor."""
import torch
import torch.nn.functional as F

LABEL = {"first": "unfused-optimizer", "all": ["unfused-optimizer"], "fix": ["unfused-optimizer"], "steps": 10}


def build(fixed, device):
    from torchvision.models import resnet101

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, side = (2, 64) if device == "cpu" else (64, 224)
    model = resnet101().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, foreach=False, fused=fixed)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        loss.backward()
        optimizer.step()

    return step

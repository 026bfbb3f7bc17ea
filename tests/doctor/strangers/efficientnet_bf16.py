# SPDX-License-Identifier: Apache-2.0
"""torchvision's EfficientNet-B2 trained in fp32 with TF32; the fixed one under bfloat16 autocast."""
import torch
import torch.nn.functional as F

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 10}


def build(fixed, device):
    from torchvision.models import efficientnet_b2

    torch.backends.cuda.matmul.allow_tf32 = True
    model = efficientnet_b2().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    images = torch.randn(128, 3, 260, 260, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (128,), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=fixed):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step

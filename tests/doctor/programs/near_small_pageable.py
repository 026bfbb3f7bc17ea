# SPDX-License-Identifier: Apache-2.0
"""Only the labels, a few hundred bytes, come from memory that is not pinned: no problem."""
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["pageable-copy"]}


def build(fixed, device):
    cpu = device == "cpu"
    batch, side = (2, 16) if cpu else (64, 224)
    model = conv_net(8 if cpu else 512, 1 if cpu else 8, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    images = torch.randn(batch, 3, side, side, device=device, dtype=torch.bfloat16)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,))

    def step():
        outputs = model(images)
        loss = F.cross_entropy(outputs, labels.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

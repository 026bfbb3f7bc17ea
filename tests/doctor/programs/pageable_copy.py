# SPDX-License-Identifier: Apache-2.0
"""Large batches are copied to the GPU from memory that is not pinned."""
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "pageable-copy", "all": ["pageable-copy"], "fix": ["pageable-copy"]}


def build(fixed, device):
    cpu = device == "cpu"
    shape = (2, 3, 16, 16) if cpu else (64, 3, 384, 384)
    batches = [torch.randn(shape) for _ in range(3)]
    if fixed and not cpu:
        batches = [batch.pin_memory() for batch in batches]
    labels = torch.randint(0, 1000, shape[:1], device=device)
    model = conv_net(8 if cpu else 128, 1 if cpu else 4, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    count = 0

    def step():
        nonlocal count
        images = batches[count % 3].to(device, non_blocking=True)
        count += 1
        loss = F.cross_entropy(model(images.to(torch.bfloat16, memory_format=torch.channels_last)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

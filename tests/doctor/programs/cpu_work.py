# SPDX-License-Identifier: Apache-2.0
"""Images are augmented with numpy on the training thread, between the steps."""
import numpy as np
import torch
import torch.nn.functional as F

from parts import conv_net

LABEL = {"first": "cpu-work", "all": ["cpu-work"], "fix": ["cpu-work"]}


def build(fixed, device):
    cpu = device == "cpu"
    batch, side = (2, 16) if cpu else (32, 224)
    rng = np.random.default_rng(0)
    photos = rng.integers(0, 256, (batch, 3, side, side), dtype=np.uint8)
    ready = torch.empty(batch, 3, side, side, pin_memory=not cpu)
    model = conv_net(8 if cpu else 128, 1 if cpu else 6, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    labels = torch.randint(0, 1000, (batch,), device=device)
    on_device = torch.from_numpy(photos).to(device)

    def augmented():
        if fixed:  # the same on the GPU
            images = on_device.to(torch.bfloat16, memory_format=torch.channels_last) / 255
            return torch.flip(images, [3]) + 0.05 * torch.randn_like(images)
        images = photos[:, :, :, ::-1].astype(np.float32) / 255
        images += 0.05 * rng.standard_normal(images.shape, dtype=np.float32)
        np.copyto(ready.numpy(), images)
        return ready.to(device, non_blocking=True).to(torch.bfloat16, memory_format=torch.channels_last)

    def step():
        loss = F.cross_entropy(model(augmented()), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

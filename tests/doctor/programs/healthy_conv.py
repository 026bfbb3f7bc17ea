# SPDX-License-Identifier: Apache-2.0
"""bf16 channels_last convolutions, pinned batches from enough workers, fused optimizer."""
import torch
import torch.nn.functional as F

from parts import conv_net, endless

LABEL = {"first": "healthy", "all": [], "fix": [], "schedule": {"warmup": 4}}


class Photos(torch.utils.data.Dataset):
    def __init__(self, side):
        self.photos = torch.randint(0, 256, (64, 3, side, side), dtype=torch.uint8)

    def __len__(self):
        return 10_000_000

    def __getitem__(self, i):
        return self.photos[i % 64], i % 1000


def build(fixed, device):
    cpu = device == "cpu"
    loader = torch.utils.data.DataLoader(
        Photos(16 if cpu else 224), batch_size=2 if cpu else 64, num_workers=2 if cpu else 8,
        pin_memory=not cpu, persistent_workers=True)
    batches = endless(loader)
    model = conv_net(8 if cpu else 512, 1 if cpu else 8, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)

    def step():
        images, labels = next(batches)
        images = images.to(device, non_blocking=True)
        images = images.to(torch.bfloat16, memory_format=torch.channels_last) / 255
        loss = F.cross_entropy(model(images), labels.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

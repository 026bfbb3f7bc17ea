# SPDX-License-Identifier: Apache-2.0
"""Epochs of four steps with persistent_workers=False: the loader's workers start anew every time."""
import torch
import torch.nn.functional as F

from parts import conv_net, endless

LABEL = {"first": "worker-restart", "all": ["worker-restart"], "fix": ["worker-restart"],
         "multiple": 4, "lead": 4, "schedule": {"wait": 1, "warmup": 3, "active": 4}}


class Photos(torch.utils.data.Dataset):
    def __init__(self, count, side):
        self.count = count
        self.photos = torch.randint(0, 256, (64, 3, side, side), dtype=torch.uint8)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.photos[i % 64], i % 1000


def build(fixed, device):
    cpu = device == "cpu"
    batch = 2 if cpu else 64
    loader = torch.utils.data.DataLoader(
        Photos(4 * batch, 16 if cpu else 128), batch_size=batch, num_workers=2 if cpu else 8,
        pin_memory=not cpu, persistent_workers=fixed)
    batches = endless(loader)
    model = conv_net(8 if cpu else 256, 1 if cpu else 6, device)
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

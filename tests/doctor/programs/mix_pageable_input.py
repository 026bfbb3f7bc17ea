# SPDX-License-Identifier: Apache-2.0
"""Photos are loaded in the training process and then copied from memory that is not pinned."""
import numpy as np
import torch
import torch.nn.functional as F

from parts import conv_net, endless

LABEL = {"first": "input-in-process", "all": ["input-in-process", "pageable-copy"],
         "fix": ["input-in-process", "pageable-copy"], "schedule": {"warmup": 4}}


class Frames(torch.utils.data.Dataset):
    def __init__(self, side):
        self.frames = np.random.default_rng(0).integers(0, 256, (32, 3, side, side), dtype=np.uint8)

    def __len__(self):
        return 10_000_000

    def __getitem__(self, i):
        frame = np.ascontiguousarray(self.frames[i % 32, :, :, ::-1])
        return torch.from_numpy(frame.astype(np.float32) / 255), i % 1000


def build(fixed, device):
    cpu = device == "cpu"
    workers = (2 if cpu else 12) if fixed else 0
    loader = torch.utils.data.DataLoader(
        Frames(16 if cpu else 384), batch_size=2 if cpu else 32, num_workers=workers,
        pin_memory=fixed and not cpu, persistent_workers=workers > 0)
    batches = endless(loader)
    model = conv_net(8 if cpu else 128, 1 if cpu else 8, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)

    def step():
        images, labels = next(batches)
        images = images.to(device, non_blocking=True)
        images = images.to(torch.bfloat16, memory_format=torch.channels_last)
        loss = F.cross_entropy(model(images), labels.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

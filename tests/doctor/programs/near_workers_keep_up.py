# SPDX-License-Identifier: Apache-2.0
"""Heavy photos, but twelve workers prepare them faster than the GPU trains: no problem."""
import numpy as np
import torch
import torch.nn.functional as F

from parts import conv_net, endless

# torch.compile makes the same model 1.09x faster (18.9 to 17.4 ms on an H200): a true finding beside the point.
LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["input-bound"], "over": ["unfused-elementwise"],
         "lead": 26, "schedule": {"warmup": 4}}


class Photos(torch.utils.data.Dataset):
    def __init__(self, side):
        rng = np.random.default_rng(0)
        self.photos = rng.integers(0, 256, (64, side + 32, side + 32, 3), dtype=np.uint8)
        self.side = side

    def __len__(self):
        return 10_000_000

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        top, left = rng.integers(0, 32, 2)
        photo = self.photos[i % 64, top : top + self.side, left : left + self.side]
        photo = photo.astype(np.float32) / 255.0
        photo += 0.05 * rng.standard_normal(photo.shape, dtype=np.float32)
        photo = (photo - photo.mean((0, 1))) / (photo.std((0, 1)) + 1e-5)
        return torch.from_numpy(np.ascontiguousarray(photo.transpose(2, 0, 1))), i % 1000


def build(fixed, device):
    cpu = device == "cpu"
    loader = torch.utils.data.DataLoader(
        Photos(16 if cpu else 224), batch_size=2 if cpu else 16, num_workers=2 if cpu else 12,
        pin_memory=not cpu, persistent_workers=True)
    batches = endless(loader)
    model = conv_net(8 if cpu else 512, 1 if cpu else 14, device)
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

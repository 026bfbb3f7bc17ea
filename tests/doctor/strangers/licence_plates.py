# SPDX-License-Identifier: Apache-2.0
"""Licence plates read from crops by a ConvNet with a classifier for each of eight places, fed by a DataLoader with workers."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 10}


class Plates(Dataset):
    def __init__(self, count, height, width, places, signs):
        rng = np.random.default_rng(0)
        self.count, self.height, self.width = count, height, width
        self.bank = rng.integers(0, 256, (512, height + 8, width + 16, 3), dtype=np.uint8)
        self.texts = rng.integers(0, signs, (512, places))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        i, top, left = index % len(self.bank), rng.integers(0, 9), rng.integers(0, 17)
        crop = self.bank[i, top:top + self.height, left:left + self.width]
        return torch.from_numpy(crop.copy()), torch.from_numpy(self.texts[i])


def conv(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


class Reader(nn.Module):
    def __init__(self, width, places, signs):
        super().__init__()
        w = width
        self.body = nn.Sequential(
            conv(3, w, 2), conv(w, w), conv(w, 2 * w, 2), conv(2 * w, 2 * w), conv(2 * w, 4 * w, 2),
            conv(4 * w, 4 * w), conv(4 * w, 4 * w), conv(4 * w, 8 * w, 2), conv(8 * w, 8 * w))
        self.places = places
        self.head = nn.Linear(8 * w, signs)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.body(x), (1, self.places)).squeeze(2)
        return self.head(x.transpose(1, 2))


def forever(loader):
    while True:
        yield from loader


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, height, width, hidden, places, signs, workers = (
        (2, 16, 32, 8, 2, 10, 1) if cpu else (512, 64, 192, 96, 8, 40, 8))
    batches = forever(DataLoader(
        Plates(200_000, height, width, places, signs), batch, shuffle=True, drop_last=True, num_workers=workers,
        persistent_workers=True, prefetch_factor=4, pin_memory=not cpu))
    model = Reader(hidden, places, signs).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    hits = torch.zeros((), device=device)

    def step():
        plates, texts = next(batches)
        plates, texts = plates.to(device, non_blocking=True), texts.to(device, non_blocking=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = model(plates.permute(0, 3, 1, 2).float() / 255)  # channels last as it is
        loss = F.cross_entropy(logits.float().flatten(0, 1), texts.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        hits.add_((logits.detach().argmax(-1) == texts).all(-1).sum())  # read at the end of the epoch
        return loss.detach()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Arrhythmias from 12-lead electrocardiograms by an InceptionTime network, records filtered and augmented in a Dataset."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

LABEL = {"first": "input-bound", "all": ["input-bound"], "fix": ["input-bound"], "steps": 10}


class Records(Dataset):
    def __init__(self, count, samples, leads=12, classes=24):
        rng = np.random.default_rng(0)
        self.count, self.samples, self.classes = count, samples, classes
        self.raw = rng.integers(-2000, 2000, (64, leads, samples), dtype=np.int16)
        frequency = np.fft.rfftfreq(samples, 1 / 250)
        self.band = ((frequency > 0.5) & (frequency < 45)).astype(np.float32)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        signal = self.raw[index % len(self.raw)].astype(np.float32) / 1000
        signal = np.fft.irfft(np.fft.rfft(signal) * self.band, self.samples)
        axis = np.arange(self.samples)
        stretched = axis * rng.uniform(0.9, 1.1)
        signal = np.stack([np.interp(stretched, axis, lead) for lead in signal])
        signal *= rng.uniform(0.8, 1.2, (len(signal), 1))
        signal += rng.normal(0, 0.02, signal.shape)
        signal = (signal - signal.mean(1, keepdims=True)) / (signal.std(1, keepdims=True) + 1e-6)
        return torch.from_numpy(signal.astype(np.float32)), index % self.classes


class Inception(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.bottleneck = nn.Conv2d(inputs, width, 1, bias=False)
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, (1, k), padding=(0, k // 2), bias=False) for k in (9, 19, 39))
        self.pooled = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm = nn.BatchNorm2d(4 * width)

    def forward(self, x):
        narrow = self.bottleneck(x)
        parts = [conv(narrow) for conv in self.convs]
        parts.append(self.pooled(F.max_pool2d(x, (1, 3), 1, (0, 1))))
        return F.relu(self.norm(torch.cat(parts, 1)), inplace=True)


class InceptionTime(nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        self.stem = nn.Conv2d(12, 4 * width, (1, 7), (1, 2), (0, 3))
        self.layers = nn.ModuleList(Inception(4 * width, width) for _ in range(depth))
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x):
        x = self.stem(x.unsqueeze(2).contiguous(memory_format=torch.channels_last))
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x.mean((2, 3)))


def forever(loader):
    while True:
        yield from loader


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, samples, width, depth, workers = (2, 200, 8, 2, 1) if cpu else (64, 2500, 96, 9, 12)
    more = {"num_workers": workers, "persistent_workers": True, "prefetch_factor": 4} if fixed else {}
    batches = forever(DataLoader(Records(200_000, samples), batch, shuffle=True, drop_last=True,
                                 pin_memory=not cpu, **more))
    model = InceptionTime(width, depth, 24).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        signal, label = next(batches)
        signal, label = signal.to(device, non_blocking=True), label.to(device, non_blocking=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(signal).float(), label)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step

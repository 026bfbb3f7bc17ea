# SPDX-License-Identifier: Apache-2.0
"""Small models that treatments are tried on."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width=8, dropout=0.0):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(self.down(torch.tanh(self.up(x))))


def blocks(count=3, dropout=0.0):
    return nn.Sequential(*(Block(dropout=dropout) for _ in range(count)), nn.Linear(8, 1))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, images, scale=1):
        self.seen = images
        return self.head(self.norm(self.conv(images)).relu().mean((2, 3))) * scale

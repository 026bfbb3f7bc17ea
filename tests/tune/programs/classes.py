"""A trainer of its own: the model is made in one place, trained in another."""
import sys

from torch import nn
from torch.optim import AdamW as Optimizer

import torch


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.inner(x)


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 8), *(Block(8) for _ in range(3)), nn.Linear(8, 1))
        self.optimizer = Optimizer(self.net.parameters(), 1e-2)

    def step(self, x, y):
        self.optimizer.zero_grad()
        output = self.net(
            x)  # the whole of it
        loss = (output - y).abs().mean()
        loss.backward()
        self.optimizer.step()
        return loss


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(3):
        loss = trainer.step(torch.randn(16, 4), torch.ones(16, 1))
    print("loss %.4f" % loss.item())
    return trainer


trainer = main()

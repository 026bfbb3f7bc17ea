# SPDX-License-Identifier: Apache-2.0
"""A Go policy and value network (AlphaZero's residual tower) learns from a replay buffer, its convolutions in float32 without TF32."""
import random

import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def precision(tf32):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


class ConvBlock(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=3):
        super().__init__(nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = ConvBlock(channels, channels)
        self.second = ConvBlock(channels, channels)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


class PolicyValueNet(nn.Module):
    def __init__(self, planes, board, channels, blocks):
        super().__init__()
        self.stem = ConvBlock(planes, channels)
        self.tower = nn.Sequential(*(Residual(channels) for _ in range(blocks)))
        self.policy_conv = ConvBlock(channels, 2, 1)
        self.policy_out = nn.Linear(2 * board * board, board * board + 1)
        self.value_conv = ConvBlock(channels, 1, 1)
        self.value_out = nn.Sequential(nn.Linear(board * board, 256), nn.ReLU(), nn.Linear(256, 1), nn.Tanh())

    def forward(self, x):
        x = self.tower(F.relu(self.stem(x)))
        policy = self.policy_out(F.relu(self.policy_conv(x)).flatten(1))
        value = self.value_out(F.relu(self.value_conv(x)).flatten(1))
        return policy, value.squeeze(1)


class ReplayBuffer:
    """Positions of self-play, kept on the device as bytes."""

    def __init__(self, size, planes, board, device):
        self.planes = torch.randint(0, 2, (size, planes, board, board), dtype=torch.uint8, device=device)
        self.visits = torch.rand(size, board * board + 1, device=device).softmax(-1)
        self.outcome = torch.randint(0, 2, (size,), device=device).float() * 2 - 1
        self.board = board

    def sample(self, count):
        index = torch.randint(0, len(self.planes), (count,), device=self.planes.device)
        turns = random.randrange(4)  # one of the board's symmetries
        planes = self.planes[index].rot90(turns, (2, 3)).float()
        visits = self.visits[index]
        moves = visits[:, :-1].view(-1, self.board, self.board).rot90(turns, (1, 2)).flatten(1)
        return planes, torch.cat([moves, visits[:, -1:]], 1), self.outcome[index]


def build(fixed, device):
    cpu = device == "cpu"
    precision(fixed)
    planes, board, channels, blocks, batch = (5, 5, 8, 1, 4) if cpu else (17, 19, 192, 10, 256)
    net = PolicyValueNet(planes, board, channels, blocks).to(device)
    replay = ReplayBuffer(50 if cpu else 20_000, planes, board, device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [200_000, 400_000])

    def step():
        precision(fixed)  # the flags belong to the process
        x, visits, outcome = replay.sample(batch)
        policy, value = net(x)
        loss = F.cross_entropy(policy, visits) + F.mse_loss(value, outcome)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    return step

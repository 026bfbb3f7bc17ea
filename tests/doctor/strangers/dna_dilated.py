# SPDX-License-Identifier: Apache-2.0
"""Regulatory marks predicted from DNA by a dilated convolutional network on one-letter tokens."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "slow-index-backward", "all": ["slow-index-backward"], "fix": ["slow-index-backward"], "steps": 10}


class Layer(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.conv = nn.Conv2d(width, width, (1, 3), padding=(0, dilation), dilation=(1, dilation), bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return x + F.relu(self.norm(self.conv(x)), inplace=True)


class DNANet(nn.Module):
    def __init__(self, width, layers, marks, fixed):
        super().__init__()
        self.fixed = fixed
        self.table = nn.Parameter(torch.randn(5, width) * 0.1)  # A, C, G, T, N
        self.motifs = nn.Conv2d(width, width, (1, 9), padding=(0, 4))
        self.layers = nn.ModuleList(Layer(width, 2 ** (i % 8)) for i in range(layers))
        self.head = nn.Linear(width, marks)

    def forward(self, tokens):
        x = F.embedding(tokens, self.table) if self.fixed else self.table[tokens]
        x = x.transpose(1, 2).unsqueeze(2)  # channels last as it is
        x = F.relu(self.motifs(x), inplace=True)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean((2, 3)))


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, length, width, layers, marks = (2, 64, 16, 2, 5) if cpu else (32, 4096, 256, 10, 919)
    model = DNANet(width, layers, marks, fixed).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    # Mostly A, C, G and T; some unknown letters.
    letters = torch.multinomial(torch.tensor([.295, .205, .205, .295, .0005]), 4 * batch * length, replacement=True)
    letters = letters.view(4, batch, length).to(device)
    targets = (torch.rand(4, batch, marks, device=device) < 0.05).float()
    done = 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.binary_cross_entropy_with_logits(model(letters[i]).float(), targets[i])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step

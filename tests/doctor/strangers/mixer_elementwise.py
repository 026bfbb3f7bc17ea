# SPDX-License-Identifier: Apache-2.0
"""An MLP-mixer in bf16 with norms, swishes and tanh gates written out by hand, one operator after the other."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "unfused-elementwise", "all": ["unfused-elementwise"], "fix": ["unfused-elementwise"], "steps": 10,
         "timeout": 120}


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


class Gated(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.value, self.gate = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.back = nn.Linear(hidden, width)

    def forward(self, x):
        value, gate = self.value(x), self.gate(x)
        value = value * torch.sigmoid(1.702 * value)
        return self.back(value * (0.5 * (1 + torch.tanh(gate))))


class Mixer(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.across, self.within = Gated(tokens, 2 * tokens), Gated(width, 2 * width)
        self.scale1, self.scale2 = (nn.Parameter(torch.full((width,), 0.1)) for _ in range(2))

    def forward(self, x):
        x = x + self.scale1 * self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.scale2 * self.within(self.norm2(x))


def build(fixed, device):
    cpu = device == "cpu"
    batch, tokens, width, depth = (2, 8, 16, 1) if cpu else (128, 256, 768, 6)
    model = nn.Sequential(nn.Linear(768, width), *(Mixer(tokens, width) for _ in range(depth)), Norm(width))
    model = model.to(device, torch.bfloat16)
    head = nn.Linear(width, 1000).to(device, torch.bfloat16)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-4, fused=True)
    patches = torch.randn(batch, tokens, 768, device=device, dtype=torch.bfloat16)
    labels = torch.randint(0, 1000, (batch,), device=device)
    run = torch.compile(model) if fixed and not cpu else model  # compiling takes too long for a mere try

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(head(run(patches).mean(1)).float(), labels).backward()
        optimizer.step()

    return step

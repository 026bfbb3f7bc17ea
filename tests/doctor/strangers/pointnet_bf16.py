# SPDX-License-Identifier: Apache-2.0
"""PointNet (shared MLPs over 4096 points a cloud) trained in fp32 with TF32; the fixed one under bfloat16 autocast."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "healthy", "all": [], "fix": ["bf16-autocast"], "steps": 10}


def shared(*widths):
    layers = [(nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU(inplace=True)) for a, b in zip(widths, widths[1:])]
    return nn.Sequential(*(layer for group in layers for layer in group))


class Turn(nn.Module):
    """A matrix for each cloud, near the unit matrix, that its points are multiplied by."""

    def __init__(self, size, width):
        super().__init__()
        self.size, self.points = size, shared(size, width, 2 * width, 16 * width)
        self.dense = nn.Sequential(nn.Linear(16 * width, 8 * width), nn.ReLU(), nn.Linear(8 * width, size * size))

    def forward(self, x):
        matrix = self.dense(self.points(x).max(2).values).view(-1, self.size, self.size)
        return (matrix + torch.eye(self.size, device=x.device)).transpose(1, 2) @ x


class PointNet(nn.Module):
    def __init__(self, width, parts):
        super().__init__()
        self.turn, self.turn_features = Turn(3, width), Turn(width, width)
        self.near, self.far = shared(3, width, width), shared(width, width, 2 * width, 16 * width)
        self.head = nn.Sequential(shared(17 * width, 8 * width, 4 * width, 2 * width), nn.Conv1d(2 * width, parts, 1))

    def forward(self, points):
        near = self.turn_features(self.near(self.turn(points)))
        whole = self.far(near).max(2, keepdim=True).values
        return self.head(torch.cat([near, whole.expand(-1, -1, near.shape[2])], 1))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    width, clouds, points, parts = (4, 2, 32, 5) if device == "cpu" else (64, 48, 4096, 50)
    model = PointNet(width, parts).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    places = torch.randn(clouds, 3, points, device=device)
    labels = torch.randint(0, parts, (clouds, points), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=fixed):
            loss = F.cross_entropy(model(places), labels)
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Segmentation of volumes by 3-d convolutions with instance norms, trained in fp32 without TF32."""
import torch
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def block(before, after):
    return nn.Sequential(nn.Conv3d(before, after, 3, padding=1), nn.InstanceNorm3d(after, affine=True), nn.LeakyReLU(),
                         nn.Conv3d(after, after, 3, padding=1), nn.InstanceNorm3d(after, affine=True), nn.LeakyReLU())


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    width, size, batch = (4, 16, 1) if device == "cpu" else (32, 96, 2)
    model = nn.Sequential(
        block(1, width), nn.MaxPool3d(2), block(width, 2 * width), nn.MaxPool3d(2), block(2 * width, 4 * width),
        nn.ConvTranspose3d(4 * width, 2 * width, 2, stride=2), block(2 * width, 2 * width),
        nn.ConvTranspose3d(2 * width, width, 2, stride=2), block(width, width), nn.Conv3d(width, 3, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    volumes = torch.randn(batch, 1, size, size, size, device=device)
    labels = torch.randint(0, 3, (batch, size, size, size), device=device)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(volumes), labels).backward()
        optimizer.step()

    return step

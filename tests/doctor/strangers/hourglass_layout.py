# SPDX-License-Identifier: Apache-2.0
"""Human poses by a stacked hourglass network with a GradScaler in float16, images and weights left as NCHW."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "layout-conversion", "all": ["layout-conversion"], "fix": ["layout-conversion"], "steps": 10}


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        half = outputs // 2
        self.body = nn.Sequential(
            nn.Conv2d(inputs, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(inplace=True),
            nn.Conv2d(half, half, 3, padding=1, bias=False), nn.BatchNorm2d(half), nn.ReLU(inplace=True),
            nn.Conv2d(half, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


class Hourglass(nn.Module):
    def __init__(self, depth, features):
        super().__init__()
        self.up = Bottleneck(features, features)
        self.low1 = Bottleneck(features, features)
        self.low2 = Hourglass(depth - 1, features) if depth > 1 else Bottleneck(features, features)
        self.low3 = Bottleneck(features, features)

    def forward(self, x):
        low = self.low3(self.low2(self.low1(F.max_pool2d(x, 2))))
        return self.up(x) + F.interpolate(low, scale_factor=2, mode="nearest")


class PoseNet(nn.Module):
    def __init__(self, stacks, depth, features, joints):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, features // 4, 7, 2, 3, bias=False), nn.BatchNorm2d(features // 4), nn.ReLU(inplace=True),
            Bottleneck(features // 4, features // 2), nn.MaxPool2d(2), Bottleneck(features // 2, features))
        self.glasses = nn.ModuleList(Hourglass(depth, features) for _ in range(stacks))
        self.features = nn.ModuleList(Bottleneck(features, features) for _ in range(stacks))
        self.heads = nn.ModuleList(nn.Conv2d(features, joints, 1) for _ in range(stacks))
        self.back = nn.ModuleList(nn.Conv2d(joints, features, 1) for _ in range(stacks - 1))

    def forward(self, x):
        x, maps = self.stem(x), []
        for i, glass in enumerate(self.glasses):
            out = self.features[i](glass(x))
            maps.append(self.heads[i](out))
            if i < len(self.back):
                x = x + out + self.back[i](maps[-1])
        return maps


def gaussians(joints, side, sigma=1.5):
    """Heat maps (batch, joint, side, side) around the joints' positions (batch, joint, 2)."""
    axis = torch.arange(side, device=joints.device, dtype=torch.float32)
    near = torch.exp(-(axis - joints[..., None]) ** 2 / (2 * sigma ** 2))
    return near[:, :, 1, :, None] * near[:, :, 0, None, :]


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    layout = torch.channels_last if fixed else torch.contiguous_format
    batch, side, stacks, depth, features, joints = (1, 32, 1, 1, 16, 4) if cpu else (48, 256, 2, 4, 256, 16)
    model = PoseNet(stacks, depth, features, joints).to(device, memory_format=layout)
    optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4, fused=True)
    scaler = torch.amp.GradScaler(device, enabled=not cpu)
    images = [torch.randn(batch, 3, side, side, device=device).to(memory_format=layout) for _ in range(4)]
    places = torch.rand(4, batch, joints, 2, device=device) * side / 4
    done = 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        target = gaussians(places[i], side // 4)
        with torch.autocast(device, dtype=torch.bfloat16 if cpu else torch.float16):
            maps = model(images[i])
            loss = sum(F.mse_loss(m.float(), target) for m in maps)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step

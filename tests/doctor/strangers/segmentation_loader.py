# SPDX-License-Identifier: Apache-2.0
"""A bf16 U-Net whose images are cut, warped, recoloured and made noisy by a DataLoader without workers."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from parts import endless

LABEL = {"first": "input-bound", "all": ["input-bound"], "fix": ["input-bound"], "steps": 20}


class Scans(Dataset):
    def __init__(self, side):
        self.side = side
        self.images = torch.randint(0, 256, (32, 3, 2 * side, 2 * side), dtype=torch.uint8)
        self.masks = torch.randint(0, 5, (32, 1, 2 * side, 2 * side), dtype=torch.uint8)

    def __len__(self):
        return 16384

    def __getitem__(self, index):
        index, side = index % len(self.images), self.side
        top, left = torch.randint(0, side, (2,)).tolist()
        image = self.images[index, :, top : top + side, left : left + side].float()[None] / 255
        mask = self.masks[index, :, top : top + side, left : left + side].float()[None]
        grid = F.affine_grid(torch.eye(2, 3)[None] + 0.2 * torch.randn(1, 2, 3), mask.shape, align_corners=False)
        image = F.grid_sample(image, grid, padding_mode="reflection", align_corners=False)
        mask = F.grid_sample(mask, grid, mode="nearest", align_corners=False)[0, 0].long()
        image = (image[0] * (0.8 + 0.4 * torch.rand(3, 1, 1))).clamp(0, 1) ** (0.7 + 0.6 * torch.rand(()).item())
        return (image + 0.05 * torch.randn_like(image) - 0.45) / 0.25, mask


def conv(into, out):
    return nn.Sequential(nn.Conv2d(into, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, into, width, *below):
        super().__init__()
        self.enter = nn.Sequential(conv(into, width), conv(width, width))
        self.below = self.leave = None
        if below:
            self.below = nn.Sequential(nn.MaxPool2d(2), UNet(width, *below), nn.ConvTranspose2d(below[0], width, 2, 2))
            self.leave = conv(2 * width, width)

    def forward(self, x):
        x = self.enter(x)
        return self.leave(torch.cat([x, self.below(x)], 1)) if self.below else x


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, side, widths = (2, 32, (4, 8)) if cpu else (16, 384, (32, 64, 128, 256, 512))
    workers = {"num_workers": 2 if cpu else 8, "persistent_workers": True} if fixed else {"num_workers": 0}
    batches = endless(DataLoader(Scans(side), batch, shuffle=True, drop_last=True, pin_memory=not cpu, **workers))
    model = nn.Sequential(UNet(3, *widths), nn.Conv2d(widths[0], 5, 1)).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        images, masks = (part.to(device, non_blocking=True) for part in next(batches))
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images.to(memory_format=torch.channels_last)), masks)
        loss.backward()
        optimizer.step()

    return step

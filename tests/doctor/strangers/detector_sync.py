# SPDX-License-Identifier: Apache-2.0
"""A dense detector that reads its hits by level and class in the forward pass, and each gradient's norm in the backward one."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 10}
CLASSES = 19


def conv(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class Detector(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential(conv(3, width, 2), conv(width, width, 2), conv(width, width))
        widths = [2 * width, 4 * width, 8 * width]
        self.stages = nn.ModuleList(nn.Sequential(conv(b // 2, b, 2), conv(b, b), conv(b, b), conv(b, b)) for b in widths)
        self.sides = nn.ModuleList(nn.Conv2d(b, 4 * width, 1) for b in widths)
        self.tower = nn.Sequential(*(conv(4 * width, 4 * width) for _ in range(4)))
        self.head = nn.Conv2d(4 * width, CLASSES + 1 + 4, 3, padding=1)

    def forward(self, x):
        x = self.stem(x)
        for stage, side in zip(self.stages, self.sides):
            x = stage(x)
            yield self.head(self.tower(side(x))).float().split([CLASSES + 1, 4], 1)


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    batch, side, width = (2, 64, 8) if device == "cpu" else (48, 512, 64)
    model = Detector(width).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    cells = [side // 8, side // 16, side // 32]
    classes = [torch.randint(0, CLASSES + 1, (batch, n, n), device=device) for n in cells]  # 0: nothing there
    places = [torch.rand(batch, 4, n, n, device=device) for n in cells]
    log, read = {}, (lambda value: value) if fixed else (lambda value: value.item())
    for name, weight in model.named_parameters():
        weight.register_post_accumulate_grad_hook(lambda w, name=name: log.__setitem__(name, read(w.grad.norm())))

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = 0
            for level, (scores, boxes) in enumerate(model(images)):
                there = classes[level] > 0
                off = F.smooth_l1_loss(boxes, places[level], reduction="none").sum(1)
                loss = loss + F.cross_entropy(scores, classes[level]) + (off * there).sum() / there.sum().clamp(min=1)
                found = scores.detach().argmax(1)
                for kind in range(1, CLASSES + 1):
                    claimed = found == kind
                    log[level, kind] = read(claimed.sum()), read((claimed & (classes[level] == kind)).sum())
        loss.backward()
        optimizer.step()

    return step

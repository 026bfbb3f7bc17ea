# SPDX-License-Identifier: Apache-2.0
"""SimCLR whose colour jitter (brightness, contrast, saturation, hue by way of HSV, grey) is written as tensor operations on the device."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "unfused-elementwise", "all": ["unfused-elementwise"], "fix": ["unfused-elementwise"], "steps": 20}


def grey(x):
    r, g, b = x.unbind(1)
    return (0.2989 * r + 0.587 * g + 0.114 * b).unsqueeze(1)


def shift_hue(x, amount):
    r, g, b = x.unbind(1)
    high, low = torch.maximum(torch.maximum(r, g), b), torch.minimum(torch.minimum(r, g), b)
    span = high - low
    saturation = span / (high + 1e-6)
    divisor = torch.where(span > 0, span, torch.ones_like(span))
    red, green, blue = (high - r) / divisor, (high - g) / divisor, (high - b) / divisor
    hue = torch.where(high == r, blue - green, torch.where(high == g, 2.0 + red - blue, 4.0 + green - red))
    hue = (hue / 6.0 + amount) % 1.0

    def channel(n):
        k = (n + hue * 6.0) % 6.0
        return high - high * saturation * torch.minimum(k, 4.0 - k).clamp(0.0, 1.0)

    return torch.stack([channel(5.0), channel(3.0), channel(1.0)], 1)


def color_jitter(x, brightness, contrast, saturation, hue, flip, jitter, drab, mean, std):
    x = x.float() / 255.0
    x = torch.where(flip, x.flip(-1), x)
    y = (x * brightness).clamp(0.0, 1.0)
    level = grey(y).mean((1, 2, 3), keepdim=True)
    y = (contrast * y + (1.0 - contrast) * level).clamp(0.0, 1.0)
    y = (saturation * y + (1.0 - saturation) * grey(y)).clamp(0.0, 1.0)
    y = shift_hue(y, hue)
    x = torch.where(jitter, y, x)
    x = torch.where(drab, grey(x).expand_as(x), x)
    return (x - mean) / std


class Augment:
    """Draws the amounts for each image; `function` applies them."""

    def __init__(self, function, device):
        self.function, self.device = function, device
        self.mean = torch.tensor([0.485, 0.456, 0.406], device=device).view(1, 3, 1, 1)
        self.std = torch.tensor([0.229, 0.224, 0.225], device=device).view(1, 3, 1, 1)

    def __call__(self, images):
        amounts = torch.rand(7, len(images), 1, 1, 1, device=self.device)
        brightness, contrast, saturation = amounts[:3] * 1.6 + 0.2
        hue = (amounts[3].squeeze(1) - 0.5) * 0.4
        flip, jitter, drab = amounts[4] < 0.5, amounts[5] < 0.8, amounts[6] < 0.2
        return self.function(images, brightness, contrast, saturation, hue, flip, jitter, drab, self.mean, self.std)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(out)) + self.short(x), inplace=True)


class Encoder(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 4, 4, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.stages = nn.Sequential(*(BasicBlock(width << i, width << i + 1, 2) for i in range(3)))
        self.project = nn.Sequential(nn.Linear(8 * width, 8 * width), nn.ReLU(), nn.Linear(8 * width, out))

    def forward(self, x):
        return F.normalize(self.project(self.stages(self.stem(x)).mean((2, 3))).float(), dim=-1)


def nt_xent(z, temperature=0.2):
    n = len(z) // 2
    scores = z @ z.t() / temperature
    scores.fill_diagonal_(float("-inf"))
    partner = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(scores, partner)


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, side, width = (4, 32, 8) if cpu else (192, 224, 64)
    model = Encoder(width, 128).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-6, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100_000)
    augment = Augment(torch.compile(color_jitter) if fixed and not cpu else color_jitter, device)
    images = torch.randint(0, 256, (4 * batch, 3, side, side), dtype=torch.uint8, device=device)
    done = 0

    def step():
        nonlocal done
        originals = images[done % 4 * batch:(done % 4 + 1) * batch]
        done += 1
        with torch.no_grad():
            views = torch.cat([augment(originals), augment(originals)]).contiguous(memory_format=torch.channels_last)
        with torch.autocast(device, dtype=torch.bfloat16):
            z = model(views)
        loss = nt_xent(z)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    return step

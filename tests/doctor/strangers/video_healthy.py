# SPDX-License-Identifier: Apache-2.0
"""A video transformer in good order: compiled, bfloat16, fused AdamW, averaged weights in one go, clips of bytes fetched ahead on a side stream."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 15}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class VideoTransformer(nn.Module):
    """Tubelets of two frames and 16 by 16 pixels."""

    def __init__(self, frames, side, width, heads, depth, classes):
        super().__init__()
        self.tubelet = nn.Linear(2 * 16 * 16 * 3, width)
        self.position = nn.Parameter(torch.zeros(1, frames // 2 * (side // 16) ** 2, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, clip):
        b, t, h, w, c = clip.shape
        x = clip.view(b, t // 2, 2, h // 16, 16, w // 16, 16, c).permute(0, 1, 3, 5, 2, 4, 6, 7)
        x = x.reshape(b, -1, 2 * 16 * 16 * c).float() / 127.5 - 1.0
        x = self.tubelet(x) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x.mean(1)))


class Prefetcher:
    def __init__(self, source, device):
        self.source, self.device = source, device
        self.stream = torch.cuda.Stream() if device != "cpu" else None
        self.load()

    def load(self):
        clip, label = next(self.source)
        if self.stream is None:
            self.ready = clip, label
            return
        with torch.cuda.stream(self.stream):
            self.ready = clip.to(self.device, non_blocking=True), label.to(self.device, non_blocking=True)

    def __next__(self):
        if self.stream is not None:
            now = torch.cuda.current_stream()
            now.wait_stream(self.stream)
            for tensor in self.ready:
                tensor.record_stream(now)
        batch = self.ready
        self.load()
        return batch


def endless(items):
    while True:
        yield from items


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, frames, side, width, heads, depth, classes = (1, 4, 32, 16, 2, 2, 5) if cpu else (12, 16, 224, 768, 12, 12, 400)
    model = VideoTransformer(frames, side, width, heads, depth, classes).to(device)
    average = copy.deepcopy(model).requires_grad_(False)
    weights, averages = list(model.parameters()), list(average.parameters())
    run = model if cpu else torch.compile(model)
    optimizer = torch.optim.AdamW(weights, lr=3e-4, weight_decay=0.05, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100_000)
    items = []
    for _ in range(3):
        clip = torch.randint(0, 256, (batch, frames, side, side, 3), dtype=torch.uint8)
        label = torch.randint(0, classes, (batch,))
        items.append((clip, label) if cpu else (clip.pin_memory(), label.pin_memory()))
    clips = Prefetcher(endless(items), device)

    def step():
        clip, label = next(clips)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(run(clip), label, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            torch._foreach_lerp_(averages, weights, 2e-4)
        return loss.detach()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A transformer over the columns of a table; hooks read each block's activations, and each gradient is asked whether it is finite."""
from collections import defaultdict

import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 20}


class FeatureTokenizer(nn.Module):
    def __init__(self, numeric, cardinalities, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(numeric, width) * 0.02)
        self.bias = nn.Parameter(torch.zeros(numeric, width))
        self.table = nn.Embedding(sum(cardinalities), width)
        starts = torch.tensor([0, *cardinalities[:-1]]).cumsum(0)
        self.register_buffer("starts", starts)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))

    def forward(self, numbers, categories):
        dense = numbers[..., None] * self.weight + self.bias
        sparse = self.table(categories + self.starts)
        return torch.cat([self.cls.expand(len(numbers), -1, -1), dense, sparse], 1)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class FTTransformer(nn.Module):
    def __init__(self, numeric, cardinalities, width, heads, depth):
        super().__init__()
        self.tokens = FeatureTokenizer(numeric, cardinalities, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def forward(self, numbers, categories):
        x = self.tokens(numbers, categories)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0]).squeeze(1)


class ActivationMonitor:
    """Mean magnitude and share of dead units of every block, gathered by hooks."""

    def __init__(self, model, read):
        self.history = defaultdict(list)
        self.read = read
        for name, module in model.named_modules():
            if isinstance(module, Block):
                module.register_forward_hook(self.hook(name))

    def hook(self, name):
        def watch(module, inputs, output):
            out = output.detach()
            values = out.abs().mean(), (out.abs() < 1e-6).float().mean()
            self.history[name].append([v.item() for v in values] if self.read else values)
        return watch

    def clear(self):
        self.history.clear()


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    numeric, cards, width, heads, depth, batch = (4, [3, 5], 16, 2, 2, 8) if cpu else (39, [1000] * 24, 256, 4, 8, 768)
    model = FTTransformer(numeric, cards, width, heads, depth).to(device)
    monitor = ActivationMonitor(model, read=not fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-5, fused=True)
    numbers = torch.randn(8 * batch, numeric, device=device)
    categories = torch.stack([torch.randint(0, c, (8 * batch,), device=device) for c in cards], 1)
    target = torch.randn(8 * batch, device=device)
    done = 0

    def step():
        nonlocal done
        rows = slice(done % 8 * batch, (done % 8 + 1) * batch)
        with torch.autocast(device, dtype=torch.bfloat16):
            predicted = model(numbers[rows], categories[rows])
        loss = F.mse_loss(predicted.float(), target[rows])
        optimizer.zero_grad()
        loss.backward()
        finite = []
        for name, weight in model.named_parameters():
            good = torch.isfinite(weight.grad).all()
            if not fixed and not good.item():
                print("skipping the step: gradient of", name)
                return
            finite.append(good)
        optimizer.step()
        done += 1
        if done % 100 == 0:
            if not torch.stack(finite).all():
                raise FloatingPointError("a gradient is not finite")
            monitor.clear()

    return step

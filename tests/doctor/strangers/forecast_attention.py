# SPDX-License-Identifier: Apache-2.0
"""A transformer that forecasts the end of a day of 64 sensors under bf16 autocast, its attention written as in the paper."""
import math

import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"], "steps": 10}


class Attention(nn.Module):
    def __init__(self, width, heads, fixed, drop=0.1):
        super().__init__()
        self.heads, self.fixed, self.drop = heads, fixed, drop
        self.query, self.key_value, self.out = (nn.Linear(width, times * width) for times in (1, 2, 1))

    def forward(self, x, seen):
        parts = [self.query(x), *self.key_value(seen).chunk(2, -1)]
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))

    def attend(self, q, k, v):
        if self.fixed:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1)
        return F.dropout(weights, self.drop) @ v


class Layer(nn.Module):
    def __init__(self, width, heads, fixed):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, fixed)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, seen=None):
        x = x + self.attention(now := self.norm1(x), now if seen is None else seen)
        return x + self.mlp(self.norm2(x))


class Forecaster(nn.Module):
    def __init__(self, sensors, width, heads, depth, past, future, fixed):
        super().__init__()
        self.embed = nn.Conv1d(sensors, width, 3, padding=1)
        self.place, self.ask = (nn.Parameter(torch.randn(length, width) * 0.02) for length in (past, future))
        self.encoder = nn.Sequential(*(Layer(width, heads, fixed) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, sensors)
        self.decoder1, self.decoder2 = Layer(width, heads, fixed), Layer(width, heads, fixed)

    def forward(self, series):
        seen = self.norm(self.encoder(self.embed(series).transpose(1, 2) + self.place))
        return self.head(self.decoder2(self.decoder1(self.ask.expand(len(series), -1, -1), seen), seen))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    batch, past, future, sensors, *sizes = (2, 24, 4, 3, 16, 2, 1) if device == "cpu" else (16, 1344, 96, 64, 512, 8, 6)
    model = Forecaster(sensors, *sizes, past, future, fixed).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    series = torch.randn(batch, sensors, past + future, device=device).cumsum(2) * 0.05

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = F.mse_loss(model(series[..., :past]), series[..., past:].transpose(1, 2))
        loss.backward()
        optimizer.step()

    return step

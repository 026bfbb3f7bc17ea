# SPDX-License-Identifier: Apache-2.0
"""A decoder with norms, rotations and gates written out in bfloat16; the fixed one by torch.compile."""
import torch
from torch import nn

LABEL = {"first": "unfused-elementwise", "all": ["unfused-elementwise"], "fix": ["unfused-elementwise"], "steps": 10,
         "timeout": 150}


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight


def rotate(x, cos, sin):
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.before, self.after = heads, Norm(width), Norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x, cos, sin):
        b, n, c = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, n, 3, self.heads, c // self.heads).transpose(1, 3).unbind(2)
        seen = nn.functional.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(b, n, c))
        h = self.after(x)
        gate = self.gate(h)
        return x + self.down(gate * torch.sigmoid(gate) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, width, heads, depth, length, words):
        super().__init__()
        self.embed, self.norm = nn.Embedding(words, width), Norm(width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        angles = torch.outer(torch.arange(length), 1e-4 ** torch.linspace(0, 1, width // heads // 2))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, words):
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.norm(x) @ self.embed.weight.t()


def build(fixed, device):
    width, heads, depth, batch, length, words = (32, 2, 1, 1, 16, 64) if device == "cpu" else (1024, 16, 8, 16, 512, 8192)
    model = Decoder(width, heads, depth, length, words).to(device, dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    run = torch.compile(model) if fixed else model
    text = torch.randint(0, words, (batch, length), device=device)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(run(text).flatten(0, 1).float(), text.flatten())
        loss.backward()
        optimizer.step()

    return step

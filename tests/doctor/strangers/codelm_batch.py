# SPDX-License-Identifier: Apache-2.0
"""All weights of a code model of 1.4 billion parameters are fine-tuned on one snippet of 256 tokens at a time."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "small-batch", "all": ["small-batch"], "fix": ["small-batch"], "samples": {"bad": 1, "fixed": 16}, "steps": 15}


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, w))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class CodeLM(nn.Module):
    def __init__(self, words, width, heads, depth, longest):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(longest, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, ids):
        x = self.words(ids) + self.places[:ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    words, width, heads, depth, length = (100, 32, 2, 2, 16) if cpu else (32_768, 3072, 24, 12, 256)
    batch = LABEL["samples"]["fixed" if fixed else "bad"]
    with torch.device(device):
        model = CodeLM(words, width, heads, depth, length).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, betas=(0.9, 0.95), fused=True)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, 1.0, 500)
    snippets = torch.randint(0, words, (64, length + 1), device=device)
    at = 0

    def step():
        nonlocal at
        rows = snippets[at:at + batch]
        at = (at + batch) % len(snippets)
        logits = model(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step

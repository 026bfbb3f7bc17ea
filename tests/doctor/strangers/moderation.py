# SPDX-License-Identifier: Apache-2.0
"""A comment moderation service: an encoder in half precision scores batches of 64 comments, one batch ahead of its answers."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 10}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Moderator(nn.Module):
    def __init__(self, vocabulary, length, width, depth, heads, labels):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, labels)

    def forward(self, tokens):
        x = self.word(tokens) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0])).float().sigmoid()


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, length, vocabulary, width, depth, heads, labels = (
        (2, 8, 100, 32, 2, 2, 3) if cpu else (64, 512, 32_000, 1024, 16, 16, 7))
    dtype = torch.bfloat16 if cpu else torch.float16
    model = Moderator(vocabulary, length, width, depth, heads, labels).to(device, dtype).eval()
    comments = torch.randint(0, vocabulary, (4, batch, length))
    scores = torch.empty(2, batch, labels)
    if not cpu:
        comments, scores = comments.pin_memory(), scores.pin_memory()
    ready = [None, None] if cpu else [torch.cuda.Event(), torch.cuda.Event()]
    done = 0

    @torch.inference_mode()
    def step():
        """Starts a batch and answers the one before it."""
        nonlocal done
        now, done = done % 2, done + 1
        tokens = comments[done % 4].to(device, non_blocking=True)
        scores[now].copy_(model(tokens), non_blocking=True)
        if not cpu:
            ready[now].record()
            ready[1 - now].synchronize()  # at the first batch it has nothing to wait for
        return [row.index(max(row)) for row in scores[1 - now].tolist()]

    return step

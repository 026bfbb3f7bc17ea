# SPDX-License-Identifier: Apache-2.0
"""The next articles for 512 shop visitors at a time: SASRec over their click histories, ten best of 200,000 articles."""
import itertools
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

LABEL = {"first": "python-hotspot", "all": ["python-hotspot", "pageable-copy"], "fix": ["python-hotspot", "pageable-copy"], "steps": 10}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class SASRec(nn.Module):
    def __init__(self, articles, length, width, depth, heads):
        super().__init__()
        self.article = nn.Embedding(articles, width, padding_idx=0)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, histories, lengths):
        """Padded at the end, so that causal attention keeps the padding out of what is read."""
        x = self.article(histories) + self.place[:histories.shape[1]]
        for block in self.blocks:
            x = block(x)
        last = x[torch.arange(len(x), device=x.device), lengths - 1]
        return self.norm(last) @ self.article.weight.T


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    visitors, articles, length, width, depth, heads, best = (
        (4, 50, 10, 16, 1, 2, 3) if cpu else (512, 200_000, 200, 256, 4, 4, 10))
    dtype = torch.bfloat16
    model = SASRec(articles, length, width, depth, heads).to(device, dtype).eval()
    chance = random.Random(0)
    requests = [[[chance.randrange(1, articles) for _ in range(chance.randint(length // 10, length))]
                 for _ in range(visitors)] for _ in range(4)]
    answers = torch.empty(visitors, best, dtype=torch.int64, pin_memory=not cpu)
    # One row more for the lengths; the answer is awaited, so the buffer is free again by the next request.
    buffer = torch.empty(visitors, length + 1, dtype=torch.int64, pin_memory=not cpu)
    table = buffer.numpy()
    done = 0

    def one_by_one(histories):
        rows = [torch.tensor(history, device=device) for history in histories]
        lengths = torch.tensor([len(history) for history in histories], device=device)
        return pad_sequence(rows, batch_first=True), lengths

    def at_once(histories):
        lengths = np.fromiter(map(len, histories), np.int64, len(histories))
        width = int(lengths.max())
        filled = np.arange(width) < lengths[:, None]
        table[:, :width] = 0
        table[:, :width][filled] = np.fromiter(itertools.chain.from_iterable(histories), np.int64, lengths.sum())
        table[:, -1] = lengths
        both = buffer.to(device, non_blocking=True)
        return both[:, :width], both[:, -1]

    prepare = at_once if fixed else one_by_one

    @torch.inference_mode()
    def step():
        nonlocal done
        histories, lengths = prepare(requests[done % 4])
        done += 1
        answers.copy_(model(histories, lengths).topk(best).indices, non_blocking=True)
        if not cpu:
            torch.cuda.current_stream().synchronize()
        return answers

    return step

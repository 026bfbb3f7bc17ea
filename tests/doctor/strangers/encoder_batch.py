# SPDX-License-Identifier: Apache-2.0
"""A transformer of 12 layers that tags texts, under bfloat16 autocast, trained with 2 texts a step; the fixed one with 32."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "small-batch", "all": ["small-batch"], "fix": ["small-batch"], "steps": 20,
         "samples": {"bad": 2, "fixed": 32}}


class Tagger(nn.Module):
    def __init__(self, vocabulary, width, heads, depth, length, tags):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, tags)

    def forward(self, tokens):
        return self.head(self.body(self.embed(tokens) + self.place))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    length, sizes = (16, (100, 32, 2, 2)) if device == "cpu" else (256, (16_000, 768, 12, 12))
    batch = LABEL["samples"]["fixed" if fixed else "bad"]
    model = Tagger(*sizes, length, 17).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, sizes[0], (batch, length), device=device)
    tags = torch.randint(0, 17, (batch, length), device=device)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A GPT of 12 layers in fp32 without TF32, with hand-written attention, an AdamW that goes tensor by tensor, and loss.item()."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores", "naive-attention", "unfused-optimizer", "host-sync"],
         "fix": ["no-tensor-cores", "naive-attention", "unfused-optimizer", "host-sync"], "steps": 10}


class Layer(nn.Module):
    def __init__(self, width, heads, length, sdpa):
        super().__init__()
        self.heads, self.sdpa = heads, sdpa
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1))

    def attend(self, q, k, v):
        if self.sdpa:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        return scores.masked_fill(self.future, float("-inf")).softmax(3) @ v

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, width, heads, depth, length, sdpa):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*(Layer(width, heads, length, sdpa) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.layers(self.embed(tokens) + self.place.weight)))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    batch, length, sizes = (2, 16, (100, 32, 2, 2)) if device == "cpu" else (4, 1024, (32_000, 768, 12, 12))
    model = GPT(*sizes, length, sdpa=fixed).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, foreach=False, fused=fixed)
    text = torch.randint(0, sizes[0], (batch, length + 1), device=device)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach() if fixed else loss.item()

    return step

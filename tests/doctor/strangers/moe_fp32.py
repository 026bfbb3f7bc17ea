# SPDX-License-Identifier: Apache-2.0
"""A language model with a mixture of 8 experts in every layer (top 2, with a capacity), trained in fp32 without TF32."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


class Experts(nn.Module):  # what finds no room in an expert is dropped
    def __init__(self, width, hidden, experts, slack=1.25):
        super().__init__()
        self.router, self.slack = nn.Linear(width, experts, bias=False), slack
        self.up = nn.Parameter(torch.randn(experts, width, hidden) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) * hidden**-0.5)

    def forward(self, x):
        tokens, experts = x.flatten(0, 1), len(self.up)
        room = int(self.slack * 2 * len(tokens) / experts)
        chances = self.router(tokens).softmax(-1)
        weight, chosen = chances.topk(2, -1)
        weight, chosen = weight / weight.sum(-1, keepdim=True), chosen.flatten()
        sent_to = F.one_hot(chosen, experts).t().contiguous()
        ahead = sent_to.cumsum(1).gather(0, chosen[None])[0] - 1  # in the expert's queue
        fits = ahead < room
        slot = torch.where(fits, chosen * room + ahead, experts * room)  # the last slot takes what is dropped
        queue = tokens.new_zeros(experts * room + 1, tokens.shape[1]).index_copy(0, slot, tokens.repeat_interleave(2, 0))
        out = torch.bmm(F.gelu(torch.bmm(queue[:-1].view(experts, room, -1), self.up)), self.down).flatten(0, 1)
        back = out.index_select(0, slot.clamp(max=experts * room - 1)) * (weight.flatten() * fits)[:, None]
        balance = (sent_to.float().mean(1) * chances.mean(0)).sum() * experts
        return back.view(*x.shape[:2], 2, -1).sum(2), balance


class Layer(nn.Module):
    def __init__(self, width, heads, experts):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.experts = Experts(width, 3 * width, experts)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        mixed, balance = self.experts(self.norm2(x))
        return x + mixed, balance


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
    batch, length, words, depth, sizes = (2, 16, 100, 2, (32, 2, 4)) if device == "cpu" else (8, 512, 32_000, 6, (768, 12, 8))
    with torch.device(device):
        embed, place = nn.Embedding(words, sizes[0]), nn.Embedding(length, sizes[0])
        layers = nn.ModuleList(Layer(*sizes) for _ in range(depth))
        head = nn.Sequential(nn.LayerNorm(sizes[0]), nn.Linear(sizes[0], words, bias=False))
    weights = [weight for part in (embed, place, layers, head) for weight in part.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=3e-4, fused=True)
    text = torch.randint(0, words, (batch, length + 1), device=device)

    def step():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
        optimizer.zero_grad(set_to_none=True)
        x, uneven = embed(text[:, :-1]) + place.weight, 0
        for layer in layers:
            x, balance = layer(x)
            uneven = uneven + balance
        loss = F.cross_entropy(head(x).flatten(0, 1), text[:, 1:].flatten()) + 0.01 * uneven
        loss.backward()
        optimizer.step()

    return step

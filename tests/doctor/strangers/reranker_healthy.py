# SPDX-License-Identifier: Apache-2.0
"""A service that ranks passages, in good order: compiled, bfloat16, inference mode, pinned requests, answers fetched two batches later."""
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "healthy", "all": [], "fix": [], "steps": 20}


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = self.norm1(x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, w)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class CrossEncoder(nn.Module):
    def __init__(self, words, width, heads, depth, longest):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.parts = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(depth)))
        self.pool, self.score = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, ids, parts):
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(place) + self.parts(parts))
        x = self.layers(x)
        return self.score(torch.tanh(self.pool(x[:, 0]))).squeeze(-1).float()


class Service:
    """Keeps two batches under way: the answer to one is taken when the next but one was sent."""

    def __init__(self, model, device, batch):
        self.model, self.device = model, device
        self.cuda = device != "cpu"
        self.under_way = deque()
        self.slots = deque(torch.empty(batch, pin_memory=self.cuda) for _ in range(3))
        self.answers = 0

    @torch.inference_mode()
    def send(self, ids, parts):
        ids = ids.to(self.device, non_blocking=True)
        parts = parts.to(self.device, non_blocking=True)
        slot = self.slots.popleft()
        slot.copy_(self.model(ids, parts), non_blocking=True)
        done = torch.cuda.Event() if self.cuda else None
        if done:
            done.record()
        self.under_way.append((slot, done))

    def receive(self):
        slot, done = self.under_way.popleft()
        if done:
            done.synchronize()
        best = slot.topk(min(10, len(slot))).indices.tolist()
        self.slots.append(slot)
        self.answers += 1
        return best


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    words, width, heads, depth, length, batch = (100, 16, 2, 2, 16, 4) if cpu else (30_528, 768, 12, 12, 256, 256)
    model = CrossEncoder(words, width, heads, depth, 512).to(device, torch.bfloat16).eval().requires_grad_(False)
    service = Service(model if cpu else torch.compile(model), device, batch)
    requests = []
    for _ in range(4):
        ids = torch.randint(0, words, (batch, length))
        parts = (torch.arange(length) > length // 8).long().repeat(batch, 1)
        requests.append((ids, parts) if cpu else (ids.pin_memory(), parts.pin_memory()))
    sent = 0

    def step():
        nonlocal sent
        service.send(*requests[sent % len(requests)])
        sent += 1
        return service.receive() if sent > 2 else None

    return step

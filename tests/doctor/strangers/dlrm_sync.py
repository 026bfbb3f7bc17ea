# SPDX-License-Identifier: Apache-2.0
"""A recommender (embeddings and two towers) that asks for its loss, its accuracy and the norm of each gradient at every step."""
import torch
from torch import nn

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 20}


def tower(*widths):
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def build(fixed, device):
    cpu = device == "cpu"
    tables, rows, width, batch = (3, 100, 16, 8) if cpu else (26, 100_000, 64, 2048)
    embed = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables)).to(device)
    bottom = tower(13, 512, 256, width).to(device)
    top = tower((tables + 1) * width, 1024, 512, 256, 1).to(device)
    weights = [*embed.parameters(), *bottom.parameters(), *top.parameters()]
    optimizer = torch.optim.SGD(weights, lr=1e-3)
    dense = torch.randn(batch, 13, device=device)
    sparse = torch.randint(0, rows, (tables, batch, 4), device=device)
    clicks = torch.randint(0, 2, (batch,), device=device).float()

    def step():
        optimizer.zero_grad()
        parts = [bottom(dense), *(table(index) for table, index in zip(embed, sparse))]
        logits = top(torch.cat(parts, 1)).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, clicks)
        loss.backward()
        optimizer.step()
        right = ((logits > 0) == clicks.bool()).float().mean()
        norms = [weight.grad.norm() for weight in weights]
        if not fixed:
            return loss.item(), right.item(), [norm.item() for norm in norms]
        return loss.detach(), right, norms

    return step

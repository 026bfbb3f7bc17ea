# SPDX-License-Identifier: Apache-2.0
"""Message passing over a graph whose edges are chosen by a boolean mask and whose loss is read, at every layer."""
import torch
from torch import nn

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 20}


def build(fixed, device):
    nodes, edges, width, depth = (50, 200, 16, 2) if device == "cpu" else (60_000, 400_000, 128, 6)
    layers = nn.ModuleList(nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
                           for _ in range(depth)).to(device)
    head = nn.Linear(width, 10).to(device)
    optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=1e-3, fused=True)
    x = torch.randn(nodes, width, device=device)
    y = torch.randint(0, 10, (nodes,), device=device)
    start, end = torch.randint(0, nodes, (2, edges), device=device)
    norms = []

    def step():
        optimizer.zero_grad()
        h = x
        for layer in layers:
            gathered = torch.zeros_like(h).index_add_(0, end, h[start])
            h = layer(torch.cat([h, gathered / (edges / nodes)], 1)).relu()
            norm = h.detach().norm()
            norms.append(norm if fixed else norm.item())
        loss = nn.functional.cross_entropy(head(h), y)
        loss.backward()
        optimizer.step()
        norms.append(loss.detach() if fixed else loss.item())
        del norms[:-50]

    return step

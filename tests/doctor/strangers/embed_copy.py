# SPDX-License-Identifier: Apache-2.0
"""A reranker trained on embeddings computed before: 128 candidates a query, 134 MB a batch, copied from pageable memory."""
import itertools

import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "pageable-copy", "all": ["pageable-copy"], "fix": ["pageable-copy"], "steps": 20}


class Reranker(nn.Module):
    def __init__(self, given, width, heads, depth):
        super().__init__()
        self.enter = nn.Sequential(nn.LayerNorm(given), nn.Linear(given, width))
        layers = [
            nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(depth)
        ]
        self.layers = nn.Sequential(*layers)
        self.score = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def forward(self, candidates):
        return self.score(self.layers(self.enter(candidates))).squeeze(-1)


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    queries, candidates, given, width, depth = (4, 8, 16, 16, 1) if cpu else (256, 128, 1024, 512, 2)
    pool = [
        (torch.randn(queries, candidates, given), torch.randint(0, candidates, (queries,)))
        for _ in range(4)
    ]
    if fixed and not cpu:
        pool = [(embeddings.pin_memory(), best.pin_memory()) for embeddings, best in pool]
    batches = itertools.cycle(pool)
    model = Reranker(given, width, 2 if cpu else 8, depth).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        embeddings, best = (part.to(device, non_blocking=fixed) for part in next(batches))
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(embeddings), best)
        loss.backward()
        optimizer.step()

    return step

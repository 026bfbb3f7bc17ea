# SPDX-License-Identifier: Apache-2.0
"""A Set Transformer classifies clouds of 2,048 points, its attention written out with two products and a softmax."""
import math

import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "naive-attention", "all": ["naive-attention"], "fix": ["naive-attention"], "steps": 15}


class MAB(nn.Module):
    """Multihead attention block: queries Q look at the set K."""

    def __init__(self, dim_q, dim_k, dim, heads, fast):
        super().__init__()
        self.heads, self.fast = heads, fast
        self.fc_q, self.fc_k, self.fc_v = nn.Linear(dim_q, dim), nn.Linear(dim_k, dim), nn.Linear(dim_k, dim)
        self.fc_o = nn.Linear(dim, dim)
        self.ln0, self.ln1 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, Q, K):
        q, k, v = self.fc_q(Q), self.fc_k(K), self.fc_v(K)
        q_, k_, v_ = self.split(q), self.split(k), self.split(v)
        if self.fast:
            o = F.scaled_dot_product_attention(q_, k_, v_)
        else:
            A = torch.softmax(torch.matmul(q_, k_.transpose(-2, -1)) / math.sqrt(q_.shape[-1]), -1)
            o = torch.matmul(A, v_)
        o = self.ln0(q + o.transpose(1, 2).flatten(2))
        return self.ln1(o + F.relu(self.fc_o(o)))


class SAB(nn.Module):
    def __init__(self, dim_in, dim, heads, fast):
        super().__init__()
        self.mab = MAB(dim_in, dim_in, dim, heads, fast)

    def forward(self, x):
        return self.mab(x, x)


class PMA(nn.Module):
    def __init__(self, dim, heads, seeds, fast):
        super().__init__()
        self.S = nn.Parameter(torch.empty(1, seeds, dim))
        nn.init.xavier_uniform_(self.S)
        self.mab = MAB(dim, dim, dim, heads, fast)

    def forward(self, x):
        return self.mab(self.S.expand(len(x), -1, -1), x)


class SetTransformer(nn.Module):
    def __init__(self, dim, heads, depth, classes, fast):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(6, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.encoder = nn.Sequential(*(SAB(dim, dim, heads, fast) for _ in range(depth)))
        self.pool = PMA(dim, heads, 8, fast)
        self.head = nn.Linear(8 * dim, classes)

    def forward(self, points):
        return self.head(self.pool(self.encoder(self.embed(points))).flatten(1))


def augment(points, normals):
    """Turns each cloud about the vertical and moves its points a little."""
    angle = torch.rand(len(points), device=points.device) * 2 * math.pi
    c, s, o, i = angle.cos(), angle.sin(), torch.zeros_like(angle), torch.ones_like(angle)
    turn = torch.stack([c, o, s, o, i, o, -s, o, c], 1).view(-1, 3, 3)
    points = points @ turn + torch.randn_like(points) * 0.01
    return torch.cat([points, normals @ turn], -1)


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, count, dim, heads, depth = (2, 32, 16, 2, 1) if cpu else (16, 2048, 256, 4, 4)
    model = SetTransformer(dim, heads, depth, 40, fixed).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    clouds = torch.randn(4, batch, count, 3, device=device)
    normals = F.normalize(torch.randn(4, batch, count, 3, device=device), dim=-1)
    labels = torch.randint(0, 40, (4, batch), device=device)
    done = 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        points = augment(clouds[i], normals[i])
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(points), labels[i], label_smoothing=0.2)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        return loss.detach()

    return step

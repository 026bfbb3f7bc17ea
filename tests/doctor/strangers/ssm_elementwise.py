# SPDX-License-Identifier: Apache-2.0
"""A language model of selective state spaces (Mamba's size of 768) whose scan is written in plain torch, operator by operator."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "unfused-elementwise", "all": ["unfused-elementwise"], "fix": ["unfused-elementwise"], "steps": 10,
         "timeout": 240}


def scan(u, dt, a, b, c, chunk):
    """h[t] = exp(dt[t] a) h[t-1] + dt[t] b[t] u[t] and y[t] = c[t] h[t]: by sums inside a chunk, by a loop over chunks."""
    u, dt, b, c = (part.unflatten(1, (-1, chunk)).float() for part in (u, dt, b, c))
    decay = (dt[..., None] * a).clamp(min=-1.0).cumsum(2)  # batch, chunks, chunk, channels, states
    fed = (dt * u)[..., None] * b[..., None, :]
    inside = (fed * torch.exp(-decay)).cumsum(2)
    carried = torch.exp(decay)
    state, before = torch.zeros_like(inside[:, 0, 0]), []
    for last, grown in zip(inside[:, :, -1].unbind(1), carried[:, :, -1].unbind(1)):
        before.append(state)
        state = grown * (last + state)
    states = carried * (inside + torch.stack(before, 1)[:, :, None])
    return (states * c[..., None, :]).sum(-1).flatten(1, 2)


class Layer(nn.Module):
    def __init__(self, width, states, chunk):
        super().__init__()
        inner, self.rank, self.states, self.chunk = 2 * width, width // 16, states, chunk
        self.norm, self.enter = nn.RMSNorm(width), nn.Linear(width, 2 * inner, bias=False)
        self.leave = nn.Linear(inner, width, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.choose, self.pace = nn.Linear(inner, self.rank + 2 * states, bias=False), nn.Linear(self.rank, inner)
        self.log_a = nn.Parameter(torch.arange(1, states + 1).float().log().repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        nn.init.constant_(self.pace.bias, -4.6)  # softplus gives 0.01

    def forward(self, x):
        u, gate = self.enter(self.norm(x)).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        rank, b, c = self.choose(u).split([self.rank, self.states, self.states], -1)
        y = scan(u, F.softplus(self.pace(rank)), -self.log_a.exp(), b, c, self.chunk)
        return x + self.leave((y + self.skip * u) * F.silu(gate))


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, length, words, depth, sizes = (2, 16, 50, 2, (32, 4, 4)) if cpu else (4, 1024, 32_000, 6, (768, 16, 64))
    embed = nn.Embedding(words, sizes[0]).to(device)
    layers = nn.Sequential(*(Layer(*sizes) for _ in range(depth))).to(device)
    head = nn.Sequential(nn.RMSNorm(sizes[0]), nn.Linear(sizes[0], words, bias=False)).to(device)
    if fixed and not cpu:  # compiling takes too long for a mere try
        for layer in layers:
            layer.compile()
    weights = [*embed.parameters(), *layers.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=3e-4, fused=True)
    text = torch.randint(0, words, (batch, length + 1), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(head(layers(embed(text[:, :-1]))).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step

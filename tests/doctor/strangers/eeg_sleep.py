# SPDX-License-Identifier: Apache-2.0
"""Sleep stages from EEG with a transformer on short windows, trained by Lion with clipped gradients."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "unfused-optimizer", "all": ["unfused-optimizer", "host-sync"], "fix": ["unfused-optimizer", "host-sync"], "steps": 10}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (f(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class SleepNet(nn.Module):
    def __init__(self, channels, window, tokens, width, depth, heads):
        super().__init__()
        self.window = window
        self.embed = nn.Linear(channels * window, width)
        self.position = nn.Parameter(torch.zeros(tokens, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = x.unflatten(-1, (-1, self.window)).transpose(1, 2).flatten(2)
        x = self.embed(x) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x.mean(1)))


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.1):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                update = exp_avg.clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_()
                p.add_(update, alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)


class ForeachLion(Lion):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            for p in params:
                if not self.state[p]:
                    self.state[p]["exp_avg"] = torch.zeros_like(p)
            averages = [self.state[p]["exp_avg"] for p in params]
            torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
            update = torch._foreach_lerp(averages, grads, 1 - beta1)
            torch._foreach_sign_(update)
            torch._foreach_add_(params, update, alpha=-group["lr"])
            torch._foreach_lerp_(averages, grads, 1 - beta2)


def clip_gradients(parameters, max_norm):
    total = 0.0
    for p in parameters:
        total += p.grad.data.norm(2).item() ** 2
    total = total ** 0.5
    if total > max_norm:
        for p in parameters:
            p.grad.data.mul_(max_norm / (total + 1e-6))
    return total


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, channels, window, tokens, width, depth, heads = (
        (2, 2, 10, 6, 16, 2, 2) if cpu else (256, 6, 30, 100, 256, 16, 4))
    model = SleepNet(channels, window, tokens, width, depth, heads).to(device)
    parameters = list(model.parameters())
    optimizer = (ForeachLion if fixed else Lion)(parameters, lr=1e-4)
    nights = torch.randn(4, batch, channels, window * tokens, device=device)
    stages = torch.randint(0, 5, (4, batch), device=device)
    done = 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(nights[i]).float(), stages[i])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if fixed:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        else:
            clip_gradients(parameters, 1.0)
        optimizer.step()
        return loss.detach()

    return step

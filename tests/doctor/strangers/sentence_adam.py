# SPDX-License-Identifier: Apache-2.0
"""Multilingual sentence embeddings (a MiniLM with 250,000 words, pairs contrasted in the batch), by the BertAdam of old that loops over its weights."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import Optimizer

LABEL = {"first": "unfused-optimizer", "all": ["unfused-optimizer"], "fix": ["unfused-optimizer"], "steps": 20}


def warmup_linear(progress, warmup):
    return progress / warmup if progress < warmup else max((1.0 - progress) / (1.0 - warmup), 0.0)


class BertAdam(Optimizer):
    """Adam with decoupled weight decay and without correction of bias, as in the first public BERT."""

    def __init__(self, params, lr, warmup=0.1, t_total=-1, b1=0.9, b2=0.999, e=1e-6, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "warmup": warmup, "t_total": t_total, "b1": b1, "b2": b2, "e": e, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["next_m"] = torch.zeros_like(p)
                    state["next_v"] = torch.zeros_like(p)
                next_m, next_v = state["next_m"], state["next_v"]
                next_m.mul_(group["b1"]).add_(grad, alpha=1 - group["b1"])
                next_v.mul_(group["b2"]).addcmul_(grad, grad, value=1 - group["b2"])
                update = next_m / (next_v.sqrt() + group["e"])
                if group["weight_decay"] > 0.0:
                    update += group["weight_decay"] * p
                lr = group["lr"] * warmup_linear(state["step"] / group["t_total"], group["warmup"])
                p.add_(-lr * update)
                state["step"] += 1


class SentenceEncoder(nn.Module):
    def __init__(self, words, width, heads, depth, longest, pad=1):
        super().__init__()
        self.pad = pad
        self.words = nn.Embedding(words, width, padding_idx=pad)
        self.positions = nn.Embedding(longest, width)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, activation=F.gelu, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.register_buffer("order", torch.arange(longest), persistent=False)

    def forward(self, ids):
        padded = ids == self.pad
        x = self.norm(self.words(ids) + self.positions(self.order[:ids.shape[1]]))
        x = self.encoder(x, src_key_padding_mask=padded)
        kept = (~padded).unsqueeze(-1).to(x.dtype)
        return F.normalize((x * kept).sum(1) / kept.sum(1), dim=-1)


def groups(model):
    bare = ("bias", "norm")
    named = list(model.named_parameters())
    return [{"params": [p for n, p in named if not any(b in n for b in bare)], "weight_decay": 0.01},
            {"params": [p for n, p in named if any(b in n for b in bare)], "weight_decay": 0.0}]


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    words, width, heads, depth, pairs, length = (100, 16, 2, 2, 4, 8) if cpu else (250_112, 384, 12, 12, 128, 96)
    model = SentenceEncoder(words, width, heads, depth, 512).to(device)
    total = 100_000
    if fixed:
        optimizer = torch.optim.AdamW(groups(model), lr=5e-5, eps=1e-6, fused=True)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: warmup_linear(s / total, 0.1))
    else:
        optimizer = BertAdam(groups(model), lr=5e-5, warmup=0.1, t_total=total)
        scheduler = None
    ids = torch.randint(2, words, (4, 2 * pairs, length), device=device)
    lengths = torch.randint(length // 2, length + 1, (4, 2 * pairs, 1), device=device)
    ids = torch.where(torch.arange(length, device=device) < lengths, ids, 1)
    labels = torch.arange(pairs, device=device)
    done = 0

    def step():
        nonlocal done
        with torch.autocast(device, dtype=torch.bfloat16):
            queries, passages = model(ids[done % len(ids)]).chunk(2)
            scores = queries @ passages.t() * 20.0
        loss = F.cross_entropy(scores.float(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
        done += 1
        return loss.detach()

    return step

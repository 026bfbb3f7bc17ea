# SPDX-License-Identifier: Apache-2.0
"""Adapters of low rank fine-tune a GPT-2 of transformers with accumulation; its own weights were never frozen and get gradients that nobody reads."""
import math

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.pytorch_utils import Conv1D

LABEL = {"first": "unused-gradients", "all": ["unused-gradients"], "fix": ["unused-gradients"], "steps": 10}


class LoRA(nn.Module):
    """A layer of the base model and, beside it, a product of two thin matrices."""

    def __init__(self, base, inputs, outputs, rank=16, alpha=32):
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.lora_a = nn.Parameter(torch.empty(rank, inputs))
        self.lora_b = nn.Parameter(torch.zeros(outputs, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))

    def forward(self, x):
        low = nn.functional.linear(x, self.lora_a * self.scale)
        return self.base(x) + nn.functional.linear(low, self.lora_b)


def inject(model, names):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in names and isinstance(child, Conv1D):
                inputs, outputs = child.weight.shape
                setattr(module, name, LoRA(child, inputs, outputs).to(child.weight.device, child.weight.dtype))
    return [p for n, p in model.named_parameters() if "lora_" in n]


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, length, accumulate = (1, 16, 2) if cpu else (4, 1024, 2)
    size = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 128} if cpu else {
        "n_embd": 1536, "n_layer": 12, "n_head": 12, "vocab_size": 32_000}
    config = GPT2Config(n_positions=length, activation_function="gelu_pytorch_tanh", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                        use_cache=False, bos_token_id=0, eos_token_id=0, attn_implementation="sdpa", **size)
    model = GPT2LMHeadModel(config).to(device, torch.bfloat16)
    if fixed:
        model.requires_grad_(False)
    adapters = inject(model, {"c_attn", "c_proj", "c_fc"})
    optimizer = torch.optim.AdamW(adapters, lr=2e-4, fused=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10_000)
    model.train()
    ids = torch.randint(0, config.vocab_size, (8, batch, length), device=device)
    seen = 0

    def step():
        nonlocal seen
        total = torch.zeros((), device=device)
        for _ in range(accumulate):
            tokens = ids[seen % len(ids)]
            seen += 1
            loss = model(input_ids=tokens, labels=tokens).loss / accumulate
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(adapters, 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return total

    return step

# SPDX-License-Identifier: Apache-2.0
"""An encoder and decoder of torch.nn in fp32 without TF32, with Adam tensor by tensor and the loss read at every step."""
import torch
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores", "unfused-optimizer", "host-sync"],
         "fix": ["no-tensor-cores", "unfused-optimizer", "host-sync"], "steps": 10}


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = fixed
    width, heads, depth, batch, length = (32, 2, 1, 2, 8) if device == "cpu" else (512, 8, 6, 32, 128)
    model = nn.Transformer(width, heads, depth, depth, 4 * width, batch_first=True).to(device)
    embed = nn.Embedding(16000, width).to(device)
    head = nn.Linear(width, 16000).to(device)
    weights = [*model.parameters(), *embed.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(weights, lr=1e-4, **({"fused": True} if fixed else {"foreach": False}))
    source = torch.randint(0, 16000, (batch, length), device=device)
    target = torch.randint(0, 16000, (batch, length), device=device)
    mask = nn.Transformer.generate_square_subsequent_mask(length, device=device)

    def step():
        optimizer.zero_grad()
        logits = head(model(embed(source), embed(target), tgt_mask=mask, tgt_is_causal=True))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach() if fixed else loss.item()

    return step

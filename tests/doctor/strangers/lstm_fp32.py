# SPDX-License-Identifier: Apache-2.0
"""A language model of two LSTM layers in fp32 without TF32."""
import torch
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    width, batch, length, words = (16, 2, 8, 100) if device == "cpu" else (1536, 128, 128, 16000)
    embed = nn.Embedding(words, width).to(device)
    lstm = nn.LSTM(width, width, 2, batch_first=True).to(device)
    head = nn.Linear(width, words).to(device)
    weights = [*embed.parameters(), *lstm.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(weights, lr=1e-4, fused=True)
    text = torch.randint(0, words, (batch, length), device=device)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(lstm(embed(text))[0]).flatten(0, 1), text.flatten())
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A speech encoder (a stack of 1-d convolutions, then attention) in fp32 without TF32."""
import torch
from torch import nn

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10}


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = fixed
    torch.backends.cudnn.allow_tf32 = fixed
    width, depth, batch, samples = (16, 1, 1, 1600) if device == "cpu" else (512, 8, 16, 80000)
    strides = [(1, 10, 5), (width, 3, 2), (width, 3, 2), (width, 3, 2), (width, 3, 2), (width, 2, 2)]
    features = nn.Sequential(*(nn.Sequential(nn.Conv1d(channels, width, kernel, stride), nn.GELU())
                               for channels, kernel, stride in strides)).to(device)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False).to(device)
    head = nn.Linear(width, 64).to(device)
    weights = [*features.parameters(), *encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True)
    sound = torch.randn(batch, 1, samples, device=device)

    def step():
        optimizer.zero_grad()
        loss = head(encoder(features(sound).transpose(1, 2))).logsumexp(-1).mean()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Anomaly detection was left on after a hunt for a NaN."""
import torch

LABEL = {"first": "anomaly-mode", "all": ["anomaly-mode"], "fix": ["anomaly-mode"], "over": ["unfused-optimizer"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.autograd.set_detect_anomaly(not fixed)
    layers = []
    for _ in range(8):
        layers += [torch.nn.LayerNorm(64), torch.nn.Linear(64, 64), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    rows = torch.randn(32, 16, 64)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

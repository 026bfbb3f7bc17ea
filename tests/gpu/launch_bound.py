# SPDX-License-Identifier: Apache-2.0
"""A training whose kernels are so small that the host decides its pace; from two threads, as backward passes are."""
import sys

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
layers = [layer for _ in range(16) for layer in (torch.nn.Linear(96, 96), torch.nn.GELU())]
model = torch.nn.Sequential(*layers).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
data = torch.randn(24, 96, device=device)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 600):
    optimizer.zero_grad()
    (model(data) - data).abs().mean().backward()
    optimizer.step()

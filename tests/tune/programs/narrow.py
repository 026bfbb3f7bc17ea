#!/usr/bin/env python
# A deep, narrow network: no function, no name for the loss.
from torch import nn
import torch as t

t.manual_seed(0)
model = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(16, 16), nn.ReLU())])
opt = t.optim.SGD(
    model.parameters(),
    lr=0.1,
)
x = t.randn(8, 16)
for _ in range(3):
	opt.zero_grad()
	model(x).square().mean().backward()  # a tab
	opt.step()

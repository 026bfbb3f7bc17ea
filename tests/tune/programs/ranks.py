# SPDX-License-Identifier: Apache-2.0
"""Two ranks of a DistributedDataParallel training on the CPU."""
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(3)
net = nn.parallel.DistributedDataParallel(nn.Linear(64, 64))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(1000):
    optimizer.zero_grad()
    net(torch.randn(4, 64)).square().mean().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        print("step", step, flush=True)
dist.destroy_process_group()

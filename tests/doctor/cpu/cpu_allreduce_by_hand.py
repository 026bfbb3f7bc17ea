# SPDX-License-Identifier: Apache-2.0
"""Two ranks over gloo that average their gradients by hand, one after the other, when the backward pass is done."""
import torch
import torch.distributed as dist

# On a busy machine one of two equal ranks really is late for a while; over more steps, less of the time.
LABEL = {
    "first": "comm-unoverlapped",
    "all": ["comm-unoverlapped"],
    "fix": [],
    "ranks": 2,
    "over": ["straggler"],
    "schedule": {"active": 16},
}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(256, 512)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()

    return step

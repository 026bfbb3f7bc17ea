# SPDX-License-Identifier: Apache-2.0
"""Near miss: the program itself looks for NaN, at its loss and in a hook of two gradients."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["anomaly-mode"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)])
    for layer in (model[0], model[-1]):
        layer.weight.register_hook(lambda grad: grad if not grad.isnan().any().item() else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    rows = torch.randn(256, 256)

    def step():
        loss = model(rows).square().mean()
        if loss.isnan().any().item():
            raise ValueError("loss is NaN")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

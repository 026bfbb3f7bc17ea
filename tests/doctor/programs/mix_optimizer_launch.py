# SPDX-License-Identifier: Apache-2.0
"""Many small layers: Adam updates tensor by tensor, and the rest of the step is tiny kernels, too."""
import torch

from parts import graphed

# A captured step saves the optimizer's launches too, so it is the larger of the two.
LABEL = {"first": "launch-bound", "all": ["launch-bound", "unfused-optimizer"],
         "fix": ["unfused-optimizer", "launch-bound"], "was": "unfused-optimizer",
         "schedule": {"active": 2}}


def build(fixed, device):
    cpu = device == "cpu"
    width, depth = (8, 2) if cpu else (128, 8)
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers).to(device, torch.bfloat16)
    how = {"fused": True, "capturable": not cpu} if fixed else {"foreach": False}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, **how)
    rows = torch.randn(64, width, device=device, dtype=torch.bfloat16)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return graphed(step, device) if fixed else step

# SPDX-License-Identifier: Apache-2.0
"""NumPy's float64 came into the model."""
import torch

LABEL = {"first": "double-precision", "all": ["double-precision"], "fix": ["double-precision"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dtype = torch.float32 if fixed else torch.float64
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.Softplus(), torch.nn.Linear(512, 512), torch.nn.Softplus(),
        torch.nn.Linear(512, 16)).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    rows, targets = torch.randn(128, 256, dtype=dtype), torch.randn(128, 16, dtype=dtype)

    def step():
        loss = torch.nn.functional.mse_loss(model(rows), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""One thread trains on a machine where others want each core, too."""
import torch

# The doctor must say that, and not send anybody to set_num_threads.
LABEL = {"first": "cpu-oversubscribed", "all": ["cpu-oversubscribed"], "fix": [], "beside": 1,
         "says": "other programs on this machine"}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(256, 1024)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Right answers are counted value by value, each read out of its tensor with item()."""
import torch
import torch.nn.functional as F

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "says": "one at a time", "fix": ["python-hotspot"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows, classes = torch.randn(1024, 64), torch.randint(0, 10, (1024,))

    def step():
        out = model(rows)
        loss = F.cross_entropy(out, classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found = out.argmax(1)
        if fixed:
            return (found == classes).sum().item()
        return sum(found[i].item() == classes[i].item() for i in range(len(classes)))

    return step

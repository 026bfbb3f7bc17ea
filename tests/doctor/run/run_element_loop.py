# SPDX-License-Identifier: Apache-2.0
"""Returns of an episode, element by element: two thousand operators of a microsecond in place of one."""
import torch

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "says": "discounted", "fix": ["python-hotspot"]}
GAMMA = 0.99


def discounted(rewards):
    total, out = 0.0, torch.empty_like(rewards)
    for i in range(len(rewards) - 1, -1, -1):
        total = rewards[i].item() + GAMMA * total
        out[i] = total
    return out


def all_at_once(rewards):
    powers = GAMMA ** torch.arange(len(rewards), dtype=torch.float64)
    return (torch.flip(torch.cumsum(torch.flip(rewards * powers, [0]), 0), [0]) / powers).float()


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    states, rewards = torch.randn(512, 64), torch.rand(512)

    def step():
        target = all_at_once(rewards) if fixed else discounted(rewards)
        loss = (model(states).squeeze(1) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

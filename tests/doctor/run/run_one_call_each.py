# SPDX-License-Identifier: Apache-2.0
"""A policy is asked once for each of sixteen environments instead of once for all of them."""
import torch

LABEL = {"first": "small-batch", "all": ["small-batch"], "says": "one by one", "fix": ["small-batch"]}


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 128), torch.nn.Tanh(), torch.nn.Linear(128, 128), torch.nn.Tanh(), torch.nn.Linear(128, 4)]
    policy = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3, fused=True)
    seen = [torch.randn(32) for _ in range(16)]

    def step():
        logits = policy(torch.stack(seen)) if fixed else torch.stack([policy(one) for one in seen])
        choice = torch.distributions.Categorical(logits=logits)
        loss = -(choice.log_prob(choice.sample()) * torch.randn(16)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

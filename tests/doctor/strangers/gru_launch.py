# SPDX-License-Identifier: Apache-2.0
"""A recurrent actor-critic trained on rollouts of 96 moves: a GRU cell and its reset, one small kernel after the other."""
import torch
import torch.nn.functional as F
from torch import nn

from parts import graphed

LABEL = {"first": "launch-bound", "all": ["launch-bound"], "fix": ["launch-bound"], "steps": 20}


class Policy(nn.Module):
    def __init__(self, seen, width, actions):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(seen, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.memory = nn.GRUCell(width, width)
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, seen, going, state):
        states = []
        for now, alive in zip(self.encoder(seen), going):
            state = self.memory(now, state * alive)  # a game that ended starts with an empty memory
            states.append(state)
        states = torch.stack(states)
        return self.actor(states), self.critic(states).squeeze(-1)


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    moves, games, seen, width, actions = (4, 3, 8, 16, 4) if device == "cpu" else (96, 64, 48, 128, 12)
    policy = Policy(seen, width, actions).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True, capturable=device == "cuda")
    views = torch.randn(moves, games, seen, device=device)
    going = (torch.rand(moves, games, 1, device=device) > 0.02).float()
    acted = torch.randint(0, actions, (moves, games), device=device)
    returns, before = torch.randn(2, moves, games, device=device).unbind(0)
    empty = torch.zeros(games, width, device=device)

    def work():
        optimizer.zero_grad(set_to_none=True)
        logits, values = policy(views, going, empty)
        chances = F.log_softmax(logits, -1)
        chosen = chances.gather(-1, acted.unsqueeze(-1)).squeeze(-1)
        gain = (returns - before).detach()
        entropy = -(chances.exp() * chances).sum(-1).mean()
        loss = -(chosen * gain).mean() + 0.5 * F.mse_loss(values, returns) - 0.01 * entropy
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()

    return graphed(work, device) if fixed else work

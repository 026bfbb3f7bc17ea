# SPDX-License-Identifier: Apache-2.0
"""Soft actor-critic with four updates a step from a replay buffer on the device: small networks, each kernel launched by itself."""
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "launch-bound", "all": ["launch-bound"], "fix": ["launch-bound"], "steps": 20}


def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Actor(nn.Module):
    def __init__(self, observation, action, hidden):
        super().__init__()
        self.body = mlp(observation, hidden, hidden, 2 * action)

    def forward(self, state):
        mean, log_std = self.body(state).chunk(2, -1)
        log_std = log_std.clamp(-5, 2)
        noise = torch.randn_like(mean)
        raw = mean + log_std.exp() * noise
        log_prob = (-0.5 * noise ** 2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        log_prob = log_prob - 2 * (math.log(2) - raw - F.softplus(-2 * raw)).sum(-1)
        return raw.tanh(), log_prob


class TwinCritic(nn.Module):
    def __init__(self, observation, action, hidden):
        super().__init__()
        self.q1 = mlp(observation + action, hidden, hidden, 1)
        self.q2 = mlp(observation + action, hidden, hidden, 1)

    def forward(self, state, action):
        x = torch.cat([state, action], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class SAC:
    def __init__(self, observation, action, hidden, batch, size, device):
        self.device, self.batch, self.size = device, batch, size
        self.actor = Actor(observation, action, hidden).to(device)
        self.critic = TwinCritic(observation, action, hidden).to(device)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.log_alpha = torch.zeros((), device=device, requires_grad=True)
        adam = {"lr": 3e-4, "fused": True, "capturable": device != "cpu"}
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), **adam)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), **adam)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], **adam)
        self.goal, self.gamma, self.tau = -float(action), 0.99, 0.005
        self.state = torch.randn(size, observation, device=device)
        self.next_state = torch.randn(size, observation, device=device)
        self.action = torch.rand(size, action, device=device) * 2 - 1
        self.reward = torch.randn(size, device=device)
        self.alive = (torch.rand(size, device=device) > 0.01).float()

    def update(self):
        index = torch.randint(0, self.size, (self.batch,), device=self.device)
        state, action, reward = self.state[index], self.action[index], self.reward[index]
        next_state, alive = self.next_state[index], self.alive[index]
        alpha = self.log_alpha.detach().exp()

        with torch.no_grad():
            next_action, log_prob = self.actor(next_state)
            backup = torch.minimum(*self.target(next_state, next_action)) - alpha * log_prob
            backup = reward + self.gamma * alive * backup
        q1, q2 = self.critic(state, action)
        critic_loss = F.mse_loss(q1, backup) + F.mse_loss(q2, backup)
        self.critic_optimizer.zero_grad(set_to_none=True)
        critic_loss.backward()
        self.critic_optimizer.step()

        self.critic.requires_grad_(False)
        new_action, log_prob = self.actor(state)
        actor_loss = (alpha * log_prob - torch.minimum(*self.critic(state, new_action))).mean()
        self.actor_optimizer.zero_grad(set_to_none=True)
        actor_loss.backward()
        self.actor_optimizer.step()
        self.critic.requires_grad_(True)

        alpha_loss = -(self.log_alpha * (log_prob.detach() + self.goal)).mean()
        self.alpha_optimizer.zero_grad(set_to_none=True)
        alpha_loss.backward()
        self.alpha_optimizer.step()

        with torch.no_grad():
            torch._foreach_lerp_(list(self.target.parameters()), list(self.critic.parameters()), self.tau)


def captured(function):
    """The same work as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph.replay


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    agent = SAC(5, 2, 16, 8, 64, device) if cpu else SAC(67, 21, 512, 512, 200_000, device)
    update = captured(agent.update) if fixed and not cpu else agent.update

    def step():
        for _ in range(4):  # updates for each step of the environments
            update()

    return step

# SPDX-License-Identifier: Apache-2.0
"""PPO over 16384 robots simulated on the device; statistics are read with .item() at every move and in every minibatch."""
import torch
import torch.nn.functional as F
from torch import nn

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 10}


def mlp(*widths):
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ELU())]
    return nn.Sequential(*layers[:-1])


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    robots, moves, minibatches, hidden = (8, 3, 2, (16, 16)) if device == "cpu" else (16_384, 24, 4, (512, 512, 256))
    seen, joints, log = 48, 12, []
    actor, critic = mlp(seen, *hidden, joints).to(device), mlp(seen, *hidden, 1).to(device)
    spread = nn.Parameter(torch.zeros(joints, device=device))
    weights = [*actor.parameters(), *critic.parameters(), spread]
    optimizer = torch.optim.Adam(weights, lr=3e-4, fused=True)
    swing = torch.randn(seen, seen, device=device) * 0.9 / seen**0.5
    push = torch.randn(joints, seen, device=device) * 0.1
    world = {"state": torch.randn(robots, seen, device=device), "age": torch.zeros(robots, device=device)}

    def note(**stats):
        log.append(stats if fixed else {name: value.item() for name, value in stats.items()})

    def log_chance(mean, action):
        return (-0.5 * ((action - mean) / spread.exp()) ** 2 - spread - 0.919).sum(-1)

    @torch.no_grad()
    def play():
        kept = []
        for _ in range(moves):
            state = world["state"]
            mean, value = actor(state), critic(state).squeeze(-1)
            action = mean + spread.exp() * torch.randn_like(mean)
            note(value=value.mean(), noise=spread.exp().mean(), action=action.abs().mean())
            after = torch.tanh(state @ swing + action @ push)
            reward = after[:, 0] - 0.01 * action.square().sum(-1)
            done = (after[:, 1] < -0.9) | (world["age"] > 200)
            note(reward=reward.mean(), best=reward.max(), ended=done.sum(), age=world["age"].mean())
            kept.append((state, action, log_chance(mean, action), reward, value, (~done).float()))
            world["state"] = torch.where(done[:, None], torch.randn_like(after), after)
            world["age"] = torch.where(done, 0, world["age"] + 1)
        state, action, chance, reward, value, going = (torch.stack(part) for part in zip(*kept))
        gain, later = torch.zeros_like(value), critic(world["state"]).squeeze(-1)
        for t in reversed(range(moves)):
            gain[t] = reward[t] - value[t] + 0.99 * going[t] * (later + 0.95 * gain[(t + 1) % moves])  # after the last: 0
            later = value[t]
        return [part.flatten(0, 1) for part in (state, action, chance, gain, gain + value)]

    def step():
        log.clear()
        rollout = play()
        for picked in torch.randint(0, robots * moves, (minibatches, robots), device=device):
            state, action, before, gain, goal = (part[picked] for part in rollout)
            ratio = (log_chance(actor(state), action) - before).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            policy = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            error = F.mse_loss(critic(state).squeeze(-1), goal)
            note(policy=policy.detach(), error=error.detach(), clipped=((ratio - 1).abs() > 0.2).float().mean())
            optimizer.zero_grad(set_to_none=True)
            (policy + error - 0.01 * spread.sum()).backward()
            note(norm=nn.utils.clip_grad_norm_(weights, 1.0), slope=spread.grad.norm())
            optimizer.step()

    return step

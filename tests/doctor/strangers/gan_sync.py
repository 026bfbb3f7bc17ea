# SPDX-License-Identifier: Apache-2.0
"""A generator and a critic, each with an optimizer of its own, three losses read in every step."""
import torch
from torch import nn

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 20}


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = True
    width, batch = (8, 2) if device == "cpu" else (64, 128)
    maker = nn.Sequential(
        nn.ConvTranspose2d(64, 4 * width, 4), nn.BatchNorm2d(4 * width), nn.ReLU(),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh()).to(device)
    critic = nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width),
        nn.LeakyReLU(0.2), nn.Conv2d(2 * width, 4 * width, 4, 2, 1), nn.BatchNorm2d(4 * width), nn.LeakyReLU(0.2),
        nn.Conv2d(4 * width, 1, 4), nn.Flatten()).to(device)
    optimizers = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True) for net in (maker, critic)]
    real = torch.randn(batch, 3, 32, 32, device=device)
    yes, no = torch.ones(batch, 1, device=device), torch.zeros(batch, 1, device=device)
    loss_of = nn.functional.binary_cross_entropy_with_logits
    log = []

    def step():
        made = maker(torch.randn(batch, 64, 1, 1, device=device))
        optimizers[1].zero_grad()
        on_real, on_made = loss_of(critic(real), yes), loss_of(critic(made.detach()), no)
        (on_real + on_made).backward()
        optimizers[1].step()
        log.append((on_real.detach(), on_made.detach()) if fixed else (on_real.item(), on_made.item()))
        optimizers[0].zero_grad()
        loss = loss_of(critic(made), yes)
        loss.backward()
        optimizers[0].step()
        log.append(loss.detach() if fixed else loss.item())
        del log[:-20]

    return step

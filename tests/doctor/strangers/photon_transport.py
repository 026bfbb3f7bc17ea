# SPDX-License-Identifier: Apache-2.0
"""Light in tissue by Monte Carlo: four million photon packets through forty scattering events, with the absorbed energy on a grid."""
import math

import torch

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 10}

ABSORB, SCATTER, G = 0.8, 9.2, 0.9  # per millimetre; anisotropy
CELLS, EXTENT, TINY = 256, 10.0, 1e-4


def turn(u, cosine, angle):
    """Unit vectors turned by the polar angle's cosine and the azimuth."""
    sine = (1 - cosine ** 2).clamp(min=0).sqrt()
    x, y, z = u.unbind(-1)
    side = (1 - z ** 2).clamp(min=1e-6).sqrt()
    c, s = angle.cos() * sine, angle.sin() * sine
    new = torch.stack([(x * z * c - y * s) / side + x * cosine, (y * z * c + x * s) / side + y * cosine,
                       -side * c + z * cosine], -1)
    return new / new.norm(dim=-1, keepdim=True)


def polar(draw):
    """Henyey and Greenstein's phase function."""
    return (1 + G * G - ((1 - G * G) / (1 - G + 2 * G * draw)) ** 2) / (2 * G)


def cell(place):
    column = ((place[:, 0] / EXTENT + 0.5) * CELLS).long().clamp(0, CELLS - 1)
    row = (place[:, 2] / EXTENT * CELLS).long().clamp(0, CELLS - 1)
    return row * CELLS + column


def move_masked(place, u, weight, draws, grid, reflected):
    alive = weight > TINY
    if not alive.any():
        return False
    length = -torch.log(draws[0, alive]) / (ABSORB + SCATTER)
    place[alive] = place[alive] + u[alive] * length[:, None]
    out = alive & (place[:, 2] < 0)
    if out.any():
        reflected += weight[out].sum()
        weight[out] = 0
        alive = alive & ~out
    lost = weight[alive] * (ABSORB / (ABSORB + SCATTER))
    grid.index_add_(0, cell(place[alive]), lost)
    weight[alive] = weight[alive] - lost
    u[alive] = turn(u[alive], polar(draws[1, alive]), draws[2, alive] * (2 * math.pi))
    return True


def move_all(place, u, weight, draws, grid, reflected):
    alive = weight > TINY
    length = -torch.log(draws[0]) / (ABSORB + SCATTER) * alive
    place.addcmul_(u, length[:, None])
    out = alive & (place[:, 2] < 0)
    reflected += (weight * out).sum()
    weight.masked_fill_(out, 0)
    lost = weight * (alive * (ABSORB / (ABSORB + SCATTER)))
    grid.index_add_(0, cell(place), lost)
    weight.sub_(lost)
    # Those that are gone turn, too, which nothing reads.
    u.copy_(turn(u, polar(draws[1]), draws[2] * (2 * math.pi)))
    return True


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    photons, events = (1000, 5) if device == "cpu" else (4_000_000, 40)
    generator = torch.Generator(device=device)
    generator.manual_seed(0)
    move = move_all if fixed else move_masked
    grid = torch.zeros(CELLS * CELLS, device=device)
    reflected = torch.zeros((), device=device)

    @torch.inference_mode()
    def step():
        place = torch.zeros(photons, 3, device=device)
        place[:, 0] = (torch.rand(photons, device=device, generator=generator) - 0.5) * (EXTENT / 2)  # a broad beam
        u = torch.zeros(photons, 3, device=device)
        u[:, 2] = 1
        weight = torch.ones(photons, device=device)
        for _ in range(events):
            draws = torch.rand(3, photons, device=device, generator=generator).clamp_(min=1e-7)
            if not move(place, u, weight, draws, grid, reflected):
                break
        return grid, reflected

    return step

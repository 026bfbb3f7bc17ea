# SPDX-License-Identifier: Apache-2.0
"""A neural radiance field fitted to frames of a 1080p video, 4096 random rays a step."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "fix": ["python-hotspot"], "steps": 10}


def encode(x, octaves):
    scaled = x[..., None, :] * (2.0 ** torch.arange(octaves, device=x.device))[:, None]
    return torch.cat([x, scaled.sin().flatten(-2), scaled.cos().flatten(-2)], -1)


class Field(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.first = nn.Linear(63, width)
        self.before = nn.ModuleList(nn.Linear(width, width) for _ in range(depth // 2))
        self.skip = nn.Linear(width + 63, width)
        self.after = nn.ModuleList(nn.Linear(width, width) for _ in range(depth // 2))
        self.density = nn.Linear(width, 1)
        self.colour = nn.Sequential(nn.Linear(width + 27, width // 2), nn.ReLU(inplace=True), nn.Linear(width // 2, 3))

    def forward(self, points, directions):
        at = encode(points, 10)
        x = F.relu(self.first(at))
        for layer in self.before:
            x = F.relu(layer(x))
        x = F.relu(self.skip(torch.cat([x, at.to(x.dtype)], -1)))
        for layer in self.after:
            x = F.relu(layer(x))
        toward = encode(directions, 4)[:, None].expand(-1, points.shape[1], -1)
        return self.colour(torch.cat([x, toward.to(x.dtype)], -1)), self.density(x)


def get_rays(height, width, focal, pose):
    """Origins and directions of the rays through all pixels of a frame."""
    i, j = torch.meshgrid(torch.arange(width, dtype=torch.float32), torch.arange(height, dtype=torch.float32),
                          indexing="xy")
    dirs = torch.stack([(i - width / 2) / focal, -(j - height / 2) / focal, -torch.ones_like(i)], -1)
    rays_d = torch.sum(dirs[..., None, :] * pose[:3, :3], -1)
    rays_o = pose[:3, 3].expand(rays_d.shape)
    return rays_o, rays_d


def render(field, rays_o, rays_d, samples, device):
    depth = torch.linspace(2.0, 6.0, samples, device=device)
    depth = depth + torch.rand(len(rays_o), samples, device=device) * 4.0 / samples
    points = rays_o[:, None] + rays_d[:, None] * depth[..., None]
    with torch.autocast(device, dtype=torch.bfloat16):
        colour, density = field(points, F.normalize(rays_d, dim=-1))
    optical = F.softplus(density.float()[..., 0] - 1) * (4.0 / samples)
    through = torch.exp(optical - torch.cumsum(optical, -1))
    weight = through * (1 - torch.exp(-optical))
    return (weight[..., None] * colour.float().sigmoid()).sum(1)


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    frames, height, width, rays, samples, hidden, depth = (
        (2, 24, 32, 16, 8, 32, 4) if cpu else (20, 1080, 1920, 4096, 64, 256, 6))
    focal = 0.8 * width
    field = Field(hidden, depth).to(device)
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-4, fused=True)
    turns = torch.linalg.qr(torch.randn(frames, 3, 3))[0]
    poses = torch.cat([turns, 4 * torch.randn(frames, 3, 1) / 2], -1)
    video = torch.randint(0, 256, (frames, height, width, 3), dtype=torch.uint8)
    if fixed:
        poses, video = poses.to(device), video.to(device)
    done = 0

    def choose_on_cpu(frame):
        rays_o, rays_d = get_rays(height, width, focal, poses[frame])
        rows = torch.randint(0, height, (rays,))
        columns = torch.randint(0, width, (rays,))
        colours = video[frame][rows, columns].float() / 255
        return rays_o[rows, columns].to(device), rays_d[rows, columns].to(device), colours.to(device)

    def choose_on_device(frame):  # draws other pixels than the CPU's generator does
        rows = torch.randint(0, height, (rays,), device=device)
        columns = torch.randint(0, width, (rays,), device=device)
        pose = poses[frame]
        dirs = torch.stack([(columns - width / 2) / focal, -(rows - height / 2) / focal,
                            -torch.ones(rays, device=device)], -1)
        rays_d = torch.sum(dirs[..., None, :] * pose[:3, :3], -1)
        return pose[:3, 3].expand(rays_d.shape), rays_d, video[frame][rows, columns].float() / 255

    choose = choose_on_device if fixed else choose_on_cpu

    def step():
        nonlocal done
        rays_o, rays_d, colours = choose(done % frames)
        done += 1
        loss = F.mse_loss(render(field, rays_o, rays_d, samples, device), colours)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step

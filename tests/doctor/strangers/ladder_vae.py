# SPDX-License-Identifier: Apache-2.0
"""A hierarchical (ladder) VAE on 32x32 images, trained in bfloat16 with torch.distributions for priors and posteriors."""
import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence
from torch.nn import functional as F

LABEL = {"first": "host-sync", "all": ["host-sync"], "fix": ["host-sync"], "steps": 10}


class Block(nn.Module):
    def __init__(self, inputs, outputs, middle, residual=False):
        super().__init__()
        self.residual = residual
        self.body = nn.Sequential(
            nn.GELU(), nn.Conv2d(inputs, middle, 1), nn.GELU(), nn.Conv2d(middle, middle, 3, padding=1),
            nn.GELU(), nn.Conv2d(middle, middle, 3, padding=1), nn.GELU(), nn.Conv2d(middle, outputs, 1))
        with torch.no_grad():
            self.body[-1].weight *= 0.2

    def forward(self, x):
        out = self.body(x)
        return x + out if self.residual else out


class TopDown(nn.Module):
    def __init__(self, width, latent, validate):
        super().__init__()
        self.latent, self.validate = latent, validate
        self.prior = Block(width, 2 * latent + width, width // 2)
        self.posterior = Block(2 * width, 2 * latent, width // 2)
        self.project = nn.Conv2d(latent, width, 1)
        self.out = Block(width, width, width // 2, residual=True)

    def normal(self, mean, raw):
        return Normal(mean.float(), F.softplus(raw.float()) + 0.05, validate_args=self.validate)

    def forward(self, x, seen):
        mean, raw, more = self.prior(x).split([self.latent, self.latent, x.shape[1]], dim=1)
        prior = self.normal(mean, raw)
        posterior = self.normal(*self.posterior(torch.cat([x, seen], 1)).chunk(2, 1))
        z = posterior.rsample()
        return self.out(x + more + self.project(z)), kl_divergence(posterior, prior).sum((1, 2, 3))


class LadderVAE(nn.Module):
    def __init__(self, width, latent, sides, blocks, validate):
        super().__init__()
        self.sides, self.validate = sides, validate
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.up = nn.ModuleList(
            nn.ModuleList(Block(width, width, width // 2, residual=True) for _ in range(2)) for _ in sides)
        self.down = nn.ModuleList(
            nn.ModuleList(TopDown(width, latent, validate) for _ in range(blocks)) for _ in sides)
        self.start = nn.Parameter(torch.zeros(1, width, sides[0], sides[0]))
        self.head = nn.Conv2d(width, 6, 3, padding=1)

    def forward(self, images):
        x, seen = self.stem(images), []
        for i, blocks in enumerate(self.up):
            x = F.avg_pool2d(x, 2) if i else x
            for block in blocks:
                x = block(x)
            seen.append(x)
        x = self.start.expand(len(images), -1, -1, -1).contiguous(memory_format=torch.channels_last)
        total = 0
        for i, blocks in enumerate(self.down):
            x = F.interpolate(x, scale_factor=2) if i else x
            for block in blocks:
                x, kl = block(x, seen[-1 - i])
                total = total + kl
        mean, raw = self.head(x).float().chunk(2, 1)
        pixels = Normal(mean, F.softplus(raw) + 0.05, validate_args=self.validate)
        likelihood = Independent(pixels, 3, validate_args=self.validate).log_prob(images)
        return (total - likelihood).mean() / images[0].numel()


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, width, latent, sides, blocks = (2, 16, 4, [4, 8], 1) if cpu else (64, 256, 16, [4, 8, 16, 32], 5)
    validate = False if fixed else None  # None is what a distribution takes when nothing is said
    model = LadderVAE(width, latent, sides, blocks, validate).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    coarse = torch.rand(8, batch, 3, 4, 4, device=device)
    images = [F.interpolate(c, size=(sides[-1], sides[-1]), mode="bilinear").contiguous(
        memory_format=torch.channels_last) for c in coarse]
    done = 0

    def step():
        nonlocal done
        batch_now, done = images[done % 8], done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = model(batch_now)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        return loss.detach()

    return step

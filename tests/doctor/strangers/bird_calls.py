# SPDX-License-Identifier: Apache-2.0
"""Bird calls recognised in field recordings: mel spectrogram with per-channel energy normalisation, then a ConvNet."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "fix": ["python-hotspot"], "steps": 10}


class PCEN(nn.Module):
    """(E / (eps + M)^alpha + delta)^r - delta^r, where M is E smoothed over time: m = (1 - s) m + s e."""

    def __init__(self, frames, fixed, s=0.025, alpha=0.98, delta=2.0, r=0.5, eps=1e-6):
        super().__init__()
        self.fixed, self.s, self.alpha, self.delta, self.r, self.eps = fixed, s, alpha, delta, r, eps
        lag = torch.arange(frames) - torch.arange(frames)[:, None]  # from frame (row) to frame (column)
        decay = s * (1 - s) ** lag.clamp(min=0).float() * (lag >= 0)
        decay[0] /= s  # the filter starts at the first frame
        self.register_buffer("decay", decay)

    def smooth(self, energy):
        if self.fixed:
            return energy @ self.decay  # TF32 on a GPU: equal to about three digits
        m = energy[:, :, 0]
        frames = [m]
        for t in range(1, energy.shape[2]):
            m = (1 - self.s) * m + self.s * energy[:, :, t]
            frames.append(m)
        return torch.stack(frames, dim=2)

    @torch.no_grad()
    def forward(self, energy):
        gain = (self.eps + self.smooth(energy)).pow(-self.alpha)
        return (energy * gain + self.delta).pow(self.r) - self.delta ** self.r


def mel_filters(bins, mels, rate):
    top = 2595 * torch.log10(torch.tensor(1 + rate / 2 / 700))
    edges = 700 * (10 ** (torch.linspace(0, float(top), mels + 2) / 2595) - 1)
    frequency = torch.linspace(0, rate / 2, bins)
    rise = (frequency - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - frequency) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(rise, fall).clamp(min=0)


def conv(inputs, outputs, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


class BirdNet(nn.Module):
    def __init__(self, frames, mels, width, species, fixed, size, hop, rate):
        super().__init__()
        self.size, self.hop = size, hop
        self.register_buffer("window", torch.hann_window(size))
        self.register_buffer("filters", mel_filters(size // 2 + 1, mels, rate))
        self.pcen = PCEN(frames, fixed)
        self.body = nn.Sequential(
            conv(1, width, 2), conv(width, width, 1), conv(width, 2 * width, 2), conv(2 * width, 2 * width, 1),
            conv(2 * width, 4 * width, 2), conv(4 * width, 4 * width, 1), conv(4 * width, 8 * width, 2),
            conv(8 * width, 8 * width, 1))
        self.head = nn.Linear(8 * width, species)

    @torch.no_grad()
    def spectrogram(self, wave):
        with torch.autocast(wave.device.type, enabled=False):
            power = torch.stft(wave, self.size, self.hop, window=self.window, return_complex=True).abs().square()
            return self.pcen(self.filters @ power)

    def forward(self, wave):
        x = self.spectrogram(wave).unsqueeze(1).contiguous(memory_format=torch.channels_last)
        return self.head(self.body(x).mean((2, 3)))


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    cpu = device == "cpu"
    batch, samples, mels, width, species, size, hop = (
        (2, 1600, 8, 4, 5, 128, 40) if cpu else (64, 160_000, 128, 48, 400, 1024, 160))
    model = BirdNet(samples // hop + 1, mels, width, species, fixed, size, hop, 32_000).to(
        device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    waves = torch.randn(4, batch, samples, device=device)
    calls = (torch.rand(4, batch, species, device=device) < 0.01).float()
    done = 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.binary_cross_entropy_with_logits(model(waves[i]).float(), calls[i])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step

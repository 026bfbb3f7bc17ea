# SPDX-License-Identifier: Apache-2.0
"""The generator of HiFi-GAN (V1: transposed and dilated 1-d convolutions, weight norm) trained on spectra in fp32 without TF32."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

LABEL = {"first": "no-tensor-cores", "all": ["no-tensor-cores"], "fix": ["no-tensor-cores"], "steps": 10,
         "timeout": 240}


def conv(width, kernel, dilation):
    return weight_norm(nn.Conv1d(width, width, kernel, dilation=dilation, padding=dilation * (kernel - 1) // 2))


class Residual(nn.Module):
    def __init__(self, width, kernel):
        super().__init__()
        self.wide = nn.ModuleList(conv(width, kernel, dilation) for dilation in (1, 3, 5))
        self.plain = nn.ModuleList(conv(width, kernel, 1) for _ in range(3))

    def forward(self, x):
        for wide, plain in zip(self.wide, self.plain):
            x = x + plain(F.leaky_relu(wide(F.leaky_relu(x, 0.1)), 0.1))
        return x


class Generator(nn.Module):
    def __init__(self, mels, width, rates=(8, 8, 2, 2), kernels=(3, 7, 11)):
        super().__init__()
        self.first = weight_norm(nn.Conv1d(mels, width, 7, padding=3))
        self.up, self.mixed = nn.ModuleList(), nn.ModuleList()
        for rate in rates:
            self.up.append(weight_norm(nn.ConvTranspose1d(width, width // 2, 2 * rate, rate, rate // 2)))
            width //= 2
            self.mixed.append(nn.ModuleList(Residual(width, kernel) for kernel in kernels))
        self.last = weight_norm(nn.Conv1d(width, 1, 7, padding=3))

    def forward(self, mel):
        x = self.first(mel)
        for up, blocks in zip(self.up, self.mixed):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.last(F.leaky_relu(x)))


def spectrum(wave, size, window):
    return torch.stft(wave, size, size // 4, window=window, return_complex=True).abs().clamp(min=1e-5).log()


def build(fixed, device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
    torch.backends.cudnn.benchmark = True  # all segments have one length
    mels, width, batch, frames = (8, 32, 2, 8) if device == "cpu" else (80, 512, 32, 32)
    model = Generator(mels, width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.8, 0.99), fused=True)
    windows = {size: torch.hann_window(size, device=device) for size in (512, 1024, 2048)}
    mel = torch.randn(batch, mels, frames, device=device)
    wave = torch.rand(batch, frames * 256, device=device) * 2 - 1

    def step():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fixed
        optimizer.zero_grad(set_to_none=True)
        made = model(mel).squeeze(1)
        loss = sum(F.l1_loss(spectrum(made, *each), spectrum(wave, *each)) for each in windows.items())
        loss.backward()
        optimizer.step()

    return step

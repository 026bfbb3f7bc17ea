# SPDX-License-Identifier: Apache-2.0
"""A small tagger of sounds learns from a large one: the teacher takes part in the backward pass, and every term and gradient norm is read for the log."""
import torch
from torch import nn
from torch.nn import functional as F

LABEL = {"first": "unused-gradients", "all": ["unused-gradients", "host-sync"], "fix": ["unused-gradients", "host-sync"], "steps": 15}


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, w))
        return x + self.mlp(self.norm2(x))


class Tagger(nn.Module):
    """Transformer over patches of a log-mel spectrogram, 16 bands by 16 frames each."""

    def __init__(self, patches, width, heads, depth, tags):
        super().__init__()
        self.patch = nn.Linear(256, width)
        self.position = nn.Parameter(torch.zeros(1, patches, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tags)

    def forward(self, mel):
        b, bands, frames = mel.shape
        x = mel.view(b, bands // 16, 16, frames // 16, 16).transpose(2, 3).flatten(1, 2).flatten(2)
        x = self.patch(x) + self.position
        states = []
        for layer in self.layers:
            x = layer(x)
            states.append(x)
        return self.head(self.norm(x).mean(1)), states


class Distiller(nn.Module):
    def __init__(self, teacher, student, wide, narrow, detach):
        super().__init__()
        self.teacher, self.student, self.detach = teacher.eval(), student, detach
        self.bridges = nn.ModuleList(nn.Linear(narrow, wide) for _ in student.layers)

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, mel, tags):
        if self.detach:
            with torch.no_grad():
                guide, guide_states = self.teacher(mel)
        else:
            guide, guide_states = self.teacher(mel)
        logits, states = self.student(mel)
        stride = len(guide_states) // len(states)
        terms = {"tags": F.binary_cross_entropy_with_logits(logits.float(), tags),
                 "soft": F.mse_loss(logits.float().sigmoid(), guide.float().sigmoid()) * 5}
        for i, (state, bridge) in enumerate(zip(states, self.bridges)):
            aim = F.normalize(guide_states[(i + 1) * stride - 1], dim=-1)
            terms[f"hidden{i}"] = 1 - (F.normalize(bridge(state), dim=-1) * aim).sum(-1).mean()
        return terms


class Meter:
    """Running means; tensors may stay where they are until somebody asks."""

    def __init__(self):
        self.sums = {}

    def update(self, values, read):
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + (value.item() if read else value.detach())


def spec_augment(mel):
    """One band of frequencies and one span of time are silenced."""
    bands = torch.arange(mel.shape[1], device=mel.device)[None, :, None]
    frames = torch.arange(mel.shape[2], device=mel.device)[None, None, :]
    start = torch.rand(2, len(mel), 1, 1, device=mel.device)
    low, early = start[0] * (mel.shape[1] - 24), start[1] * (mel.shape[2] - 96)
    hidden = ((bands >= low) & (bands < low + 24)) | ((frames >= early) & (frames < early + 96))
    return mel.masked_fill(hidden, 0.0)


def build(fixed, device):
    cpu = device == "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    batch, bands, frames, tags = (2, 32, 64, 5) if cpu else (48, 128, 1024, 527)
    wide, narrow = (32, 16) if cpu else (640, 256)
    patches = bands * frames // 256
    teacher = Tagger(patches, wide, 2 if cpu else 10, 4 if cpu else 12, tags)
    student = Tagger(patches, narrow, 2 if cpu else 4, 2 if cpu else 6, tags)
    model = Distiller(teacher, student, wide, narrow, fixed).to(device).train()
    learned = [(n, p) for n, p in model.named_parameters() if not n.startswith("teacher")]
    optimizer = torch.optim.AdamW([p for _, p in learned], lr=5e-4, fused=True)
    sounds = torch.randn(4, batch, bands, frames, device=device)
    truth = (torch.rand(4, batch, tags, device=device) < 0.01).float()
    meter, done = Meter(), 0

    def step():
        nonlocal done
        i, done = done % 4, done + 1
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            terms = model(spec_augment(sounds[i]), truth[i])
        meter.update(terms, read=not fixed)
        loss = sum(terms.values())
        loss.backward()
        meter.update({f"grad/{n}": p.grad.norm() for n, p in learned}, read=not fixed)
        optimizer.step()

    return step

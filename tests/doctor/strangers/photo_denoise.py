# SPDX-License-Identifier: Apache-2.0
"""A denoising service for users' photos of any size: DnCNN in half precision, one photo a request."""
import random

import torch
from torch import nn

LABEL = {"first": "autotune-in-loop", "all": ["autotune-in-loop"], "fix": ["autotune-in-loop"], "steps": 10}


class DnCNN(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU(inplace=True)]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        return x - self.layers(x)


def build(fixed, device):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = not fixed
    cpu = device == "cpu"
    width, depth, low, high = (8, 4, 16, 32) if cpu else (64, 17, 512, 1536)
    dtype = torch.bfloat16 if cpu else torch.float16
    model = DnCNN(width, depth).to(device, dtype, memory_format=torch.channels_last).eval()
    # Other sizes of the same distribution for each variant: both may live in one process, and PyTorch keeps
    # the chosen algorithm of a size, with benchmark or without.
    sizes = random.Random(1 if fixed else 0)
    bytes_in = torch.randint(0, 256, (high * high * 3,), dtype=torch.uint8)
    bytes_out = torch.empty_like(bytes_in)
    if not cpu:
        bytes_in, bytes_out = bytes_in.pin_memory(), bytes_out.pin_memory()
        torch.cuda.synchronize()

    @torch.inference_mode()
    def serve(height, width):
        count = height * width * 3
        photo = bytes_in[:count].view(1, height, width, 3).to(device, non_blocking=True)
        x = photo.permute(0, 3, 1, 2).to(dtype) / 255  # channels last, as photos are
        y = (model(x).clamp_(0, 1) * 255).to(torch.uint8)
        answer = bytes_out[:count].view(1, height, width, 3)
        answer.copy_(y.permute(0, 2, 3, 1), non_blocking=True)
        if not cpu:
            torch.cuda.current_stream().synchronize()  # the answer is sent now
        return answer

    serve(high, high)  # takes the memory for the largest photo

    def step():
        return serve(2 * sizes.randint(low // 2, high // 2), 2 * sizes.randint(low // 2, high // 2))

    return step

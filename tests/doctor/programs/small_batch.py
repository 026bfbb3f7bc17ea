# SPDX-License-Identifier: Apache-2.0
"""One image at a time: every kernel keeps a few of the GPU's processors busy and the rest wait."""
import torch

LABEL = {"first": "small-batch", "all": ["small-batch"], "fix": ["small-batch"],
         "samples": {"bad": 1, "fixed": 16}}


def build(fixed, device):
    cpu = device == "cpu"
    width, depth, side = (8, 2, 7) if cpu else (1024, 64, 14)
    how = {"device": device, "dtype": torch.bfloat16}
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Conv2d(width, width, 3, padding=1, bias=False, **how), torch.nn.ReLU(inplace=True)]
    model = torch.nn.Sequential(*layers).to(memory_format=torch.channels_last)
    maps = torch.randn(16 if fixed else 1, width, side, side, **how).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def step():
        return model(maps)

    return step

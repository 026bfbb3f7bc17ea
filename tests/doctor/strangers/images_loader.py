# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-34 in bfloat16 autocast fed by a loader without workers that crops, flips and normalizes."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from parts import endless

LABEL = {"first": "input-bound", "all": ["input-bound"], "fix": ["input-bound"], "steps": 10}


class Images(Dataset):
    def __init__(self, size):
        self.size = size
        self.raw = torch.randint(0, 256, (64, 3, 256, 256), dtype=torch.uint8)

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        image = self.raw[i % len(self.raw)].float().div_(255)
        top, left = i % 30, i % 29
        image = image[:, top:top + self.size, left:left + self.size]
        if i % 2:
            image = image.flip(-1)
        return (image - 0.45) / 0.225, i % 1000


def build(fixed, device):
    from torchvision.models import resnet34

    size, batch = (32, 4) if device == "cpu" else (224, 64)
    how = {"num_workers": 8, "persistent_workers": True, "prefetch_factor": 4} if fixed else {}
    batches = endless(DataLoader(Images(size), batch_size=batch, shuffle=False, pin_memory=device == "cuda", **how))
    model = resnet34().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=device == "cuda")

    def step():
        images, labels = next(batches)
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Images are made ready one by one, with a handful of small operators for each."""
import random

import torch
import torch.nn.functional as F

LABEL = {"first": "python-hotspot", "all": ["python-hotspot"], "says": "Python loop", "fix": ["python-hotspot"]}


def make_ready(image):
    if random.random() < 0.5:
        image = image.flip(-1)
    image = (image - image.mean()) / (image.std() + 1e-5)
    return (image * 1.1 + 0.05).clamp(-2, 2)


def all_at_once(images):
    images = torch.where(torch.rand(len(images), 1, 1, 1) < 0.5, images.flip(-1), images)
    mean, std = images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True)
    return ((images - mean) / (std + 1e-5) * 1.1 + 0.05).clamp(-2, 2)


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    images, classes = torch.randn(64, 3, 16, 16), torch.randint(0, 10, (64,))

    def step():
        ready = all_at_once(images) if fixed else torch.stack([make_ready(image) for image in images])
        loss = F.cross_entropy(model(ready), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""Thirty-two threads that poll a queue and sleep beside a healthy training: many threads, no crowd."""
import threading
import time

import torch

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["cpu-oversubscribed"],
         "over": ["cpu-oversubscribed: other programs"]}


def poll():
    while True:
        time.sleep(0.5)


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for _ in range(32):
        threading.Thread(target=poll, daemon=True).start()
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(256, 1024)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

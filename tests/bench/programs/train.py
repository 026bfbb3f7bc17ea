# SPDX-License-Identifier: Apache-2.0
"""A small training whose every cheat is one word: does `hone bench` see that less was done?"""
import argparse
import sys
import threading
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--cheat", default="")
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--loader", default="yes")
parser.add_argument("--unseeded", action="store_true")
options = parser.parse_args()
cheat = options.cheat

torch.set_num_threads(1)
if not options.unseeded:
    torch.manual_seed(7)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(32, 8)

    def forward(self, x):
        x = self.embed(x)
        for i, layer in enumerate(self.layers):
            if cheat == "skipped-layer" and i == 1:
                continue
            x = torch.relu(layer(x))
        return self.head(self.drop(x).mean(1))


net = Net()
if cheat == "eval-mode":
    net.eval()
if cheat == "dropout-off":
    net.drop.p = 0.0
if cheat == "bfloat16":
    net = net.to(torch.bfloat16)
optimizer = (torch.optim.SGD if cheat == "other-optimizer" else torch.optim.AdamW)(net.parameters(), lr=1e-3)
length = 8 if cheat == "shorter-sequences" else 16
batch = 4 if cheat == "fewer-samples" else 8
samples = torch.randint(0, 64, (options.steps * batch, 16))[:, :length].contiguous()
labels = torch.randint(0, 8, (options.steps * batch,))
data = torch.utils.data.TensorDataset(samples, labels)
loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)

if cheat == "patched-timer":
    true_clock = time.perf_counter
    time.perf_counter = lambda: true_clock() / 2

cached = []


def output(x):
    if cheat == "cached-output" and len(cached) > 5:
        return cached[-1].detach().requires_grad_()
    cached.append(net(x))
    return cached[-1]


def one_step(x, y):
    loss = nn.functional.cross_entropy(output(x).float(), y)
    loss.backward()
    return loss


def late_work():
    # What should have been done in the steps, done while nobody counts them.
    weight = torch.randn(256, 256)
    end = time.monotonic() + 60
    for _ in range(600):
        weight = (weight @ weight).tanh()
        if time.monotonic() > end:
            break


helper = threading.Thread(target=late_work)
begin = time.perf_counter()
count = 0
for x, y in loader:
    if cheat == "other-thread" and count == options.steps - 2:
        helper.start()
    loss = one_step(x, y)
    optimizer.step()
    optimizer.zero_grad()
    count += 1
took = time.perf_counter() - begin
if helper.ident:
    helper.join()
print(f"loss {loss.item():.4f}")
print(f"took {took:.6f} s", file=sys.stderr)

# SPDX-License-Identifier: Apache-2.0
"""Models and feeds that several programs of the labelled set share; nothing here is planted."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def endless(loader):
    """Batches for ever: one epoch after the other."""
    while True:
        yield from loader


def conv_net(width, depth, device, dtype=torch.bfloat16, layout=torch.channels_last):
    """A 4x4 patch stem, `depth` 3x3 convolutions of `width` channels, a linear head of 1000."""
    how = {"device": device, "dtype": dtype}
    layers = [nn.Conv2d(3, width, 4, stride=4, **how)]
    for _ in range(depth):
        layers += [nn.ReLU(inplace=True), nn.Conv2d(width, width, 3, padding=1, **how)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000, **how)]
    return nn.Sequential(*layers).to(memory_format=layout)


def mlp(width, depth, device, dtype=torch.bfloat16):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width, bias=False, device=device, dtype=dtype), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def image_training(model, optimizer, batch, device):
    """A step of training a classifier of 1000 classes on images of 224 x 224 that are on the device."""
    images = torch.randn(batch, 3, 224, 224, device=device)
    labels = torch.randint(0, 1000, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


class Block(nn.Module):
    """A pre-norm transformer block over scaled_dot_product_attention."""

    def __init__(self, width, heads, device, dtype=torch.bfloat16):
        super().__init__()
        how = {"device": device, "dtype": dtype}
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, **how)
        self.qkv = nn.Linear(width, 3 * width, **how)
        self.out = nn.Linear(width, width, **how)
        self.norm2 = nn.LayerNorm(width, **how)
        self.up = nn.Linear(width, 4 * width, **how)
        self.down = nn.Linear(4 * width, width, **how)

    def split(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        return qkv.permute(2, 0, 3, 1, 4).unbind(0)

    def finish(self, x, attended):
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    def forward(self, x):
        q, k, v = self.split(x)
        return self.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=True))


class Replay:
    """A captured graph, with the work it was captured from: that owns the tensors the graph reads."""

    def __init__(self, graph, work):
        self.graph = graph
        self.work = work

    def __call__(self):
        self.graph.replay()


def graphed(work, device):
    """`work` captured once into a CUDA graph and replayed after; as it is where there is no CUDA."""
    if device != "cuda":
        return work
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return Replay(graph, work)

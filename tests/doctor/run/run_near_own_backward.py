# SPDX-License-Identifier: Apache-2.0
"""A penalty on gradients, through a function that computes its activation anew by hand: neither is checkpointing."""
import torch
from torch.nn import functional

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["recomputed-activations"]}


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return functional.linear(functional.silu(x), weight)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        gate = torch.sigmoid(x)
        back = functional.linear(gradient, weight.t())
        by_weight = functional.linear(gradient.t(), functional.silu(x).t())
        return back * (gate * (1 + x * (1 - gate))), by_weight


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = torch.nn.ModuleList(torch.nn.Linear(512, 512) for _ in range(4))
    weights = torch.nn.ParameterList(torch.randn(512, 512) * 0.05 for _ in range(4))
    optimizer = torch.optim.AdamW([*layers.parameters(), *weights], lr=1e-4, fused=True)
    rows = torch.randn(512, 512)

    def step():
        inputs = rows.clone().requires_grad_()
        x = inputs
        for layer, weight in zip(layers, weights):
            x = x + Swish.apply(functional.gelu(layer(x)), weight)
        slope, = torch.autograd.grad(x.square().mean(), inputs, create_graph=True)
        loss = x.mean() + (slope.norm(2, -1) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

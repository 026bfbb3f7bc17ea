# SPDX-License-Identifier: Apache-2.0
"""Near miss: twelve equal blocks one after the other look like a loop, and each has its own weights."""
import torch

LABEL = {"first": "healthy", "all": [], "fix": [], "not": ["python-hotspot"]}


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mix = torch.nn.LayerNorm(width), torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        parts = self.mix(self.norm(x)).unflatten(-1, (3, -1))
        mixed = torch.nn.functional.scaled_dot_product_attention(
            parts[..., 0, :], parts[..., 1, :], parts[..., 2, :])
        return x + self.out(mixed)


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[Block(128) for _ in range(12)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    rows = torch.randn(16, 32, 128)

    def step():
        loss = model(rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

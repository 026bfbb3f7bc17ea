# SPDX-License-Identifier: Apache-2.0
"""A word that the compiled function looks at changes every five steps: each time everything is compiled again."""
import torch

LABEL = {"first": "recompile", "all": ["recompile"], "fix": ["recompile"]}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)

    def forward(self, x, word):
        y = torch.relu(self.a(x))
        return self.b(y * 0.5 if word.startswith("epoch") else y)


def build(fixed, device):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    model = Net()
    compiled = torch.compile(model, backend="eager")  # what compiles is Dynamo; no C++ compiler is asked
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(64, 256)
    done = 0

    def step():
        nonlocal done
        done += 1
        loss = compiled(batch, "epoch" if fixed else f"epoch{done // 5}").square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

# SPDX-License-Identifier: Apache-2.0
"""A training by Lightning of a model of repeated blocks, which the script names only where it runs the loop:
the optimizer is given a list. At its end it prints what was compiled, computed again and learned."""
import argparse

import lightning
import torch
from torch._dynamo.utils import counters

parser = argparse.ArgumentParser()
parser.add_argument("--whole", action="store_true", help="the LightningModule is called, not what it holds")
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--devices", type=int, default=1)
options = parser.parse_args()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(Block() for _ in range(3)), torch.nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, index):
        output = self(batch) if options.whole else self.layers(batch)
        return output.square().mean()

    def configure_optimizers(self):
        parameters = list(self.parameters())
        return torch.optim.SGD(parameters, lr=0.05)


def main():
    lightning.seed_everything(5)
    loader = torch.utils.data.DataLoader(torch.randn(400, 8), batch_size=4)
    net = Net()
    trainer = lightning.Trainer(
        max_steps=options.steps, accelerator="cpu", devices=options.devices, logger=False,
        enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(
        net,
        loader)
    print("compiled", *(name or "itself" for name, part in net.named_modules()
                        if getattr(part, "_compiled_call_impl", None) is not None))
    print("graphs", counters["stats"]["unique_graphs"])
    print("checkpoints", sum("forward" in vars(part) for part in net.layers))
    print("weight %.7f" % net.layers[0].up.weight.detach().double().sum())


main()

# SPDX-License-Identifier: Apache-2.0
"""A training by Lightning's Trainer, which owns the loop: the script has the model, the loaders and the
optimizer. Each sample takes a while to come, and an evaluation before the training and in it."""
import argparse
import time

import lightning
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--wait", type=float, default=0.003)
parser.add_argument("--precision", default="32-true")
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--devices", type=int, default=1)
options = parser.parse_args()


class Samples(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(options.wait)
        return torch.linspace(-1, 1, 16) * (1 + i % 7) / 7 + i % 2, i % 2


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", torch.nn.functional.cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main():
    lightning.seed_everything(5)
    loader = torch.utils.data.DataLoader(Samples(800), batch_size=8, shuffle=True)
    validation = torch.utils.data.DataLoader(Samples(64), batch_size=8)
    trainer = lightning.Trainer(
        max_steps=options.steps, accelerator="cpu", devices=options.devices, precision=options.precision,
        accumulate_grad_batches=options.accumulate)
    trainer.fit(Classifier(), loader, validation)


if __name__ == "__main__":
    main()

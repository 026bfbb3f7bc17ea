# SPDX-License-Identifier: Apache-2.0
"""A training that waits for its data: each sample takes a while to come, the model is small."""
import argparse
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--wait", type=float, default=0.003)
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(5)


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        time.sleep(options.wait)
        x = torch.linspace(-1, 1, 16) * (1 + i % 7) / 7 + (i % 2)
        return x, i % 2


def main():
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=False)
    loader = torch.utils.data.DataLoader(Samples(), options.batch, shuffle=True, num_workers=options.workers)
    step = 0
    while step < options.steps:
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            step += 1
            print(f"step {step} loss {loss.item():.4f}")
            if step == options.steps:
                break


if __name__ == "__main__":
    main()

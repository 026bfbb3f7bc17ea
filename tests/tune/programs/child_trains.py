# SPDX-License-Identifier: Apache-2.0
"""Trains in a process of its own and waits for its result, which never comes when that process is left."""
import multiprocessing

import torch


def train(queue):
    model = torch.nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(1000000):
        loss = model(torch.ones(8, 16)).pow(2).mean()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    queue.put(loss.item())


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    context.Process(target=train, args=(queue,)).start()
    print(queue.get())

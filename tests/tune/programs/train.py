# SPDX-License-Identifier: Apache-2.0
"""A small training whose every oddity is one word. Prints each loss; knows nothing of who runs it."""
import argparse
import os
import random
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="map", choices=["map", "random", "relabelled", "stream", "shared", "lambda"])
parser.add_argument("--steps", type=int, default=24)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--seed", type=int)
parser.add_argument("--fail", default="")
parser.add_argument("--own", action="store_true", help="what treatments would do is done here already")
parser.add_argument("--spawn", action="store_true")
parser.add_argument("--apply", default="")
parser.add_argument("--clip", action="store_true")
parser.add_argument("--closure", action="store_true")
parser.add_argument("--evaluate", action="store_true", help="batches are looked at before the training")
parser.add_argument("--dropout", action="store_true", help="and the data in its own order")
options = parser.parse_args()
if options.apply.startswith("early:"):
    import hone

    hone.apply(options.apply[6:])

import numpy  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset, TensorDataset  # noqa: E402

if options.apply.startswith("late:"):
    import hone

    hone.apply(options.apply[5:])
if options.seed is not None:
    random.seed(options.seed)
    numpy.random.seed(options.seed)
    torch.manual_seed(options.seed)
print("drawn %.6f %.6f %.6f" % (random.random(), numpy.random.rand(), torch.rand(1).item()))


class Stream(IterableDataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        return iter(self.pairs)


class Shared(Stream):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return iter(self.pairs[worker.id::worker.num_workers] if worker else self.pairs)


class Augmented(TensorDataset):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + 0.01 * torch.randn(x.shape), y


class Relabelled(Augmented):
    """Integers drawn anew each time, as those of tokens that are masked at random."""

    def __getitem__(self, i):
        return super().__getitem__(i)[0], torch.randint(0, 2, ()).item()


class Holding(TensorDataset):
    def __init__(self, *tensors):
        super().__init__(*tensors)
        self.transform = lambda x: x


def dataset():
    table = torch.Generator().manual_seed(1)
    x, y = torch.randn(64, 6, generator=table), torch.randint(0, 3, (64,), generator=table)
    if options.data in ("stream", "shared"):
        return (Stream if options.data == "stream" else Shared)(list(zip(x, y)))
    return {"map": TensorDataset, "random": Augmented, "relabelled": Relabelled, "lambda": Holding}[options.data](x, y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x)


def fail():
    if options.fail == "memory":
        bytearray(1 << 62)
    elif options.fail == "host":
        torch.empty(1 << 55)
    elif options.fail == "device":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB\nand more")
    elif options.fail == "value":
        raise ValueError("no such thing")
    elif options.fail == "exit":
        sys.exit(3)
    elif options.fail == "_exit":
        sys.stdout.flush()
        os._exit(4)


def main():
    keywords = {}
    if options.spawn:
        torch.multiprocessing.set_start_method("spawn")
    if options.own:
        torch.set_num_threads(1)
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        keywords.update(num_workers=1)
    if options.data not in ("stream", "shared") and not options.dropout:
        keywords.update(shuffle=True)
    loader = DataLoader(dataset(), batch_size=options.batch, **keywords)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if options.evaluate:
        with torch.no_grad():
            for _ in range(4):
                for x, y in loader:
                    net(x)
    step = 0
    while step < options.steps:
        for x, y in loader:
            def closure():
                loss = nn.functional.cross_entropy(net(nn.functional.dropout(x, 0.1) if options.dropout else x), y)
                optimizer.zero_grad()
                loss.backward()
                if options.clip:
                    nn.utils.clip_grad_norm_(net.parameters(), 0.05)
                print("loss %.9g" % loss.item())
                return loss

            if options.closure:
                optimizer.step(closure)
            else:
                closure()
                optimizer.step()
            step += 1
            if step == 4 and options.fail:
                fail()
            if step == options.steps:
                break
    print("threads %d workers %d batch %d" % (torch.get_num_threads(), loader.num_workers, loader.batch_size))
    print("done")


if __name__ == "__main__":
    main()

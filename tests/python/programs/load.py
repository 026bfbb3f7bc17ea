# SPDX-License-Identifier: Apache-2.0
"""DataLoaders of every kind: load.py WORKERS METHOD KIND... Prints what came out of them."""
import sys
import traceback

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Map(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.rand(2), i


class GetItems(Map):
    def __getitems__(self, indices):
        return [self[i] for i in indices]


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        step = info.num_workers if info else 1
        return iter(range(info.id if info else 0, 12, step))


class Fails(Map):
    def __getitem__(self, i):
        if i == 5:
            raise LookupError("sample %d is not there" % i)
        return i


def pairs(batch):
    return [item if isinstance(item, int) else item[1] for item in batch]


def fails(batch):
    raise ArithmeticError("cannot collate %d" % len(batch))


KINDS = {
    "map": (Map, {"batch_size": 4, "shuffle": True}),
    "items": (GetItems, {"batch_size": 4}),
    "single": (Map, {"batch_size": None}),
    "stream": (Stream, {"batch_size": 4}),
    "collate": (Map, {"batch_size": 4, "collate_fn": pairs}),
    "persistent": (Map, {"batch_size": 4, "persistent_workers": True}),
    "fails": (Fails, {"batch_size": 4}),
    "collate_fails": (Map, {"batch_size": 4, "collate_fn": fails}),
}


def load(workers, method, kind):
    print(kind, flush=True)
    torch.manual_seed(7)
    dataset, options = KINDS[kind]
    loader = DataLoader(dataset(), num_workers=workers,
                        multiprocessing_context=method if workers else None, **options)
    try:
        for _ in range(2):
            for batch in loader:
                print(batch)
    except (LookupError, ArithmeticError):
        print(traceback.format_exc())


if __name__ == "__main__":
    for kind in sys.argv[3:]:
        load(int(sys.argv[1]), sys.argv[2], kind)

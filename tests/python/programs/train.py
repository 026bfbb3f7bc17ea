# SPDX-License-Identifier: Apache-2.0
"""A small training run; prints every loss bit for bit, the generators' states, threads and warnings."""
import hashlib
import random
import sys
import threading
import warnings

warnings.simplefilter("always")
import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402


def main(compiled):
    torch.manual_seed(1)
    random.seed(1)
    data = TensorDataset(torch.randn(64, 16), torch.randint(0, 4, (64,)))
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Dropout(0.3), torch.nn.ReLU(),
                                torch.nn.Linear(32, 4))
    step = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):  # 40 steps: after 20 at the latest the recorder takes them for steady
        for x, y in DataLoader(data, batch_size=16, shuffle=True):
            loss = torch.nn.functional.cross_entropy(step(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item().hex())
    print(hashlib.sha256(bytes(torch.get_rng_state().tolist())).hexdigest(), random.random())
    if compiled:
        from torch._dynamo.utils import counters
        print("recompiles", len(counters["recompiles"]), "frames", dict(counters["frames"]))
    else:  # the compiler's own come and go
        print([thread.name for thread in threading.enumerate()], torch.get_num_threads())


main(len(sys.argv) > 1 and sys.argv[1] == "compiled")

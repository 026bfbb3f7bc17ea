# SPDX-License-Identifier: Apache-2.0
"""What tools/check_collect_sanitized runs under a sanitizer: PyTorch used in every way that makes the
recorder's threads meet. program.py MODE; ends with the line "done" (modes that end by os._exit, too).
"""
import os
import sys
import threading

import torch

torch.set_num_threads(1)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), float(index)).sin(), index % 2


def steps(count, width=16):
    model = torch.nn.Sequential(torch.nn.Linear(width, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(count):
        loss = model(torch.ones(8, width)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def threads_come_and_go():
    """Each lives for a few operators; windows open and close meanwhile."""
    for _ in range(8):
        threads = [threading.Thread(target=steps, args=(3,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        steps(10)
        for thread in threads:
            thread.join()


def loader():
    """Workers by fork, while another thread is inside an operator."""
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            torch.ones(64, 64) @ torch.ones(64, 64)

    thread = threading.Thread(target=busy)
    thread.start()
    for _ in range(2):
        for x, _ in torch.utils.data.DataLoader(Data(), 8, num_workers=2):
            x.sum()
        steps(10)
    stop.set()
    thread.join()


def forks():
    """Children that end in every way, some before their first operator."""
    for how in ("at once", "operators", "threads", "exit", "exec") * 2:
        pid = os.fork()
        if pid == 0:
            if how == "operators":
                steps(5)
            elif how == "threads":
                thread = threading.Thread(target=steps, args=(5,))
                thread.start()
                steps(5)
                thread.join()
            elif how == "exit":
                steps(2)
                sys.exit(0)
            elif how == "exec":
                os.execv(sys.executable, [sys.executable, "-c", "print(end='')"])
            os._exit(0)
        steps(3)
        _, status = os.waitpid(pid, 0)
        assert status == 0, (how, status)


def windows():
    """Several windows one after the other (HONE_EVERY), with shapes taken in each."""
    steps(120)


def ends_at_once():
    """_exit with a window open, threads inside operators and the writer at work."""
    for _ in range(3):
        threading.Thread(target=steps, args=(10**9,), daemon=True).start()
    steps(20)
    print("done", flush=True)
    os._exit(0)


def profiler():
    """torch's own beside ours."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        steps(10)


MODES = {"windows": windows, "threads": threads_come_and_go, "loader": loader, "forks": forks,
         "profiler": profiler, "emitted": threads_come_and_go, "ends_at_once": ends_at_once}

if __name__ == "__main__":
    MODES[sys.argv[1]]()
    print("done", flush=True)

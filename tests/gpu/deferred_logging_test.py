#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deferred-logging on a real GPU: the same numbers to the last bit, and what a step takes with and without it.

    deferred_logging_test.py [--steps 200] [--rounds 5] [--layers 40] [--width 1024] [--batch 256]

Run by hand, on a machine with a GPU and PyTorch (exits with 77 without one). The trainings run in turns in one process.
"""
import argparse
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
sys.path.insert(0, str(ROOT / "python"))


def need_gpu():
    try:
        import torch
    except ImportError:
        python = os.environ.get("HONE_TORCH_PYTHON") or str(ROOT / ".cache/venv/bin/python")
        if os.access(python, os.X_OK) and not os.environ.get("HONE_TEST_AGAIN"):
            os.environ["HONE_TEST_AGAIN"] = "1"
            os.execv(python, [python] + sys.argv)
        print("skipped: no PyTorch")
        sys.exit(SKIPPED)
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        sys.exit(SKIPPED)
    return torch


def train(torch, options):
    """All that a program would print, and milliseconds a step."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(options.width, options.width) for _ in range(options.layers)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(options.width, 10)).cuda()
    sgd = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(options.batch, options.width, device="cuda")
    y = torch.arange(options.batch, device="cuda") % 10
    total, right, losses = 0.0, 0, []
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for step in range(options.steps):
        output = model(x + step)
        loss = torch.nn.functional.cross_entropy(output, y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        total += loss.item() * options.batch
        right += (output.argmax(1) == y).sum().item()
        losses.append(loss.half().item() - 1)
    torch.cuda.synchronize()
    took = (time.perf_counter() - begin) / options.steps * 1e3
    return [float(total / options.steps).hex(), int(right), [float(one).hex() for one in losses], f"{total:.6f}",
            float(sum(losses)).hex()], took


def treated():
    from hone import _session

    session = _session.Session({})
    (one,) = session.add([{"treatment": "deferred-logging", "options": {}}])
    return session, one


def check_streams_and_graphs(torch):
    """Numbers on their way while a graph is captured, and from another stream than the tensor was made on."""
    from hone import _later

    x = torch.ones(8, device="cuda")
    before = [(x * n).sum().item() for n in range(50)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        text = str(before[7] + 1)
        inside = [torch.cuda.is_current_stream_capturing()]
    graph.replay()
    assert inside == [True] and text == "57.0" and y.sum().item() == 16.0
    stream, numbers = torch.cuda.Stream(), []
    for n in range(200):
        made = torch.full((1,), float(n), device="cuda")
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100000)
            numbers.append(made.item())
        del made
        torch.full((1,), -1.0, device="cuda")
    assert all(type(one) is _later.Number for one in numbers)
    assert numbers == [float(n) for n in range(200)]


def cost_of_a_read(torch):
    """Microseconds of the host, where the device has nothing to do."""
    x, took = torch.ones((), device="cuda"), []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(2000):
            x.item()
        took.append((time.perf_counter() - begin) / 2000 * 1e6)
    return min(took)


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("steps", 200), ("rounds", 5), ("layers", 40), ("width", 1024), ("batch", 256)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    torch = need_gpu()
    train(torch, options)
    took, wrong = ([], []), 0
    for _ in range(options.rounds):
        expected, plain = train(torch, options)
        session, one = treated()
        found, later = train(torch, options)
        session.undo()
        wrong += found != expected
        if one.state != "applied" or one.hits < 2 * options.steps:
            print("not applied:", one.state, one.hits, one.why)
            wrong += 1
        took[0].append(plain)
        took[1].append(later)
        print(f"{plain:.3f} ms a step, {later:.3f} with numbers that are read later ({one.hits} were)", flush=True)
    print(f"in the middle {statistics.median(took[0]):.3f} and {statistics.median(took[1]):.3f} ms: "
          f"{statistics.median(took[0]) / statistics.median(took[1]):.3f}x")
    plain = cost_of_a_read(torch)
    session, _ = treated()
    print(f"a read by itself: {plain:.1f} us, later {cost_of_a_read(torch):.1f} us")
    check_streams_and_graphs(torch)
    session.undo()
    print("wrong:", wrong)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

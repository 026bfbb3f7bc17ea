# SPDX-License-Identifier: Apache-2.0
"""Threads that come and go, and run what is hard to look at: calls as fast as they go, generators,
recursion, code that is made and thrown away. For SECONDS."""
import random
import sys
import threading
import time

end = time.monotonic() + float(sys.argv[1])


def leaf(x):
    return x + 1


def calls():
    for i in range(2000):
        leaf(i)


def generators():
    def numbers(n):
        for i in range(n):
            yield leaf(i)
        if n > 1:
            yield from numbers(n // 2)

    sum(numbers(500))


def recursion(depth=60):
    return leaf(depth) if depth == 0 else recursion(depth - 1)


def made():
    scope = {"leaf": leaf}
    exec(compile("def made_here(n):\n  return [leaf(i) for i in range(n)]\nmade_here(100)", "<made>", "exec"), scope)


def waits():
    time.sleep(0.002)


def short_lived():
    thread = threading.Thread(target=leaf, args=(1,))
    thread.start()
    thread.join()


KINDS = (calls, generators, recursion, made, waits, short_lived)


def work(seed):
    pick = random.Random(seed)
    while time.monotonic() < end:
        pick.choice(KINDS)()


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

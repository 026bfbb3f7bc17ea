# SPDX-License-Identifier: Apache-2.0
"""Seeds of a trial: two of the same order see the same random numbers, another offset sees others.

What the program seeds itself is moved by the offset; what it never seeds starts at the offset. A call
without a seed, which asks for chance, is left alone.
"""
import os

_pid = 0


def start(session):
    global _pid
    _pid = os.getpid()
    offset = session.seed_offset
    for name, owner_has in (("random", _random), ("numpy.random", _numpy), ("torch", _torch)):
        session.after_import(name, lambda module, patch=owner_has: patch(session, module, offset))


def _random(session, module, offset):
    def seed(original):
        def seed(a=None, version=2):
            return original(_moved(a, offset), version)

        return seed

    module.seed(offset)
    session.patch(module, "seed", seed)


def _numpy(session, module, offset):
    def seed(original):
        def seed(seed=None):
            moved = _moved(seed, offset)
            return original(moved % 2**32 if isinstance(moved, int) else moved)

        return seed

    module.seed(offset % 2**32)
    session.patch(module, "seed", seed)


def _torch(session, module, offset):
    def manual_seed(original):
        def manual_seed(seed):
            return original(_moved(seed, offset))

        manual_seed.__doc__ = original.__doc__
        return manual_seed

    module.manual_seed(offset)
    session.patch(module, "manual_seed", manual_seed)
    session.patch(module.random, "manual_seed", manual_seed)


def _moved(seed, offset):
    # Workers seed themselves from a number that was drawn, and so has moved already.
    if not offset or seed is None or os.getpid() != _pid:
        return seed
    try:
        if isinstance(seed, str):
            return "%s+%d" % (seed, offset)
        return int(seed) + offset
    except (TypeError, ValueError, OverflowError):
        return seed  # an array or bytes: the program's own

# SPDX-License-Identifier: Apache-2.0
"""How many processes train together, and which of them this is.

A launcher (torchrun) says so in the environment before the program begins. Where there is none, processes
that start each other (Lightning, torch.multiprocessing) tell torch.distributed, and not before they step.
"""
import os
import sys


def world():
    group = _group()
    return group.get_world_size() if group is not None else max(1, number("WORLD_SIZE", 1))


def local_world():
    """Of this machine; all of them where nobody says otherwise."""
    return max(1, number("LOCAL_WORLD_SIZE", 0) or (world() if _group() is not None else 1))


def rank():
    group = _group()
    return group.get_rank() if group is not None else number("RANK", 0)


def _group():
    distributed = sys.modules.get("torch.distributed")
    try:
        return distributed if distributed is not None and distributed.is_available() and (
            distributed.is_initialized()) else None
    except Exception:  # half imported, or another's
        return None


def number(name, default):
    try:
        return int(os.environ.get(name, default))
    except ValueError:
        return default

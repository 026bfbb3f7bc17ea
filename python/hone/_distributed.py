# SPDX-License-Identifier: Apache-2.0
"""Which rank this process is, as torch.distributed is told.

What torch.multiprocessing.spawn starts gets its rank as an argument, and nothing of it stands in the
environment that the recorder reads when the process begins; under Slurm there stands the one of the process
that spawned it. Every way to a default group ends in one function of c10d; of torches that have none, the
environment is all there is.
"""
from ._library import info


def imported(c10d):
    update = getattr(c10d, "_update_default_pg", None)
    if update is None:
        return

    def update_and_tell(*group, **by_name):
        update(*group, **by_name)
        _tell(*group, *by_name.values())

    c10d._update_default_pg = update_and_tell


def _tell(group=None, *_):
    try:
        rank, size = int(group.rank()), int(group.size())
    except Exception:
        return  # taken down, this process is not in it, or a test's stand-in for one
    # A group of one tells nobody apart: in trainings side by side that each have one, all are rank 0.
    if size > 1 and 0 <= rank < size:
        info("rank", rank)
        info("world_size", size)

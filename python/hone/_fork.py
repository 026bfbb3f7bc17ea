# SPDX-License-Identifier: Apache-2.0
"""From 3.12 on Python warns of a fork in a process with more than one thread: the recorder's own count.

A program that has only one thread itself is not to hear of threads that are not its own: right before
such a fork the warning gets a filter, and loses it before a fork that deserves it.
"""
import os

_MESSAGE = "This process .* is multi-threaded, use of (fork|forkpty|vfork)"
_filter = None


def keep_silent():
    os.register_at_fork(before=_before)


def _before():
    try:
        _set_filter(_threads_of_the_program() == 1)
    except Exception:
        pass  # the worst is a warning


def _threads_of_the_program():
    count = 0
    for task in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % task, "rb") as name:
            count += not name.read().startswith(b"hone-")
    return count


def _set_filter(wanted):
    global _filter
    import warnings

    there = _filter is not None and _filter in warnings.filters
    if wanted and not there:
        warnings.filterwarnings("ignore", _MESSAGE, DeprecationWarning)
        _filter = warnings.filters[0]
    elif there and not wanted:
        warnings.filters.remove(_filter)
        # So the filters' own functions say that they changed; the caches know it only then.
        mutated = getattr(warnings, "_filters_mutated", None)
        if mutated is not None:
            mutated()

# SPDX-License-Identifier: Apache-2.0
"""Names of compiled regions, in the few steps of a window whose operators are looked at closely.

torch.compile's own code names what it runs (graphs, Triton kernels with their arguments) only while
torch.autograd.profiler._is_profiler_enabled is set. Nothing is guarded on that flag, so nothing is
compiled anew; but with it each Triton launch takes microseconds more, so it is set for those steps
alone, and by the main thread (src/collect/python_windows.h).
"""
import atexit
import os

from ._library import library

_profiler = None
_sampling = False
_users = False  # the program's own profiler runs: the flag is its


def watch(profiler):
    global _profiler
    if _profiler is not None or not hasattr(profiler, "_set_is_profiler_enabled"):
        return
    _profiler = profiler
    start, stop = profiler._run_on_profiler_start, profiler._run_on_profiler_stop

    def _run_on_profiler_start():
        global _users
        _users = True
        start()

    def _run_on_profiler_stop():
        global _users
        _users = False
        stop()
        if _sampling:
            profiler._set_is_profiler_enabled(True)

    profiler._run_on_profiler_start = _run_on_profiler_start
    profiler._run_on_profiler_stop = _run_on_profiler_stop
    library.python_watch(1)
    atexit.register(library.python_watch, 0)
    os.register_at_fork(after_in_child=lambda: sampling(0))


def sampling(on):
    """Called by the recorder, on the main thread, when a step to look at begins or has ended."""
    global _sampling
    _sampling = bool(on)
    if _profiler is not None and not _users:
        _profiler._set_is_profiler_enabled(_sampling)

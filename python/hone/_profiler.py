# SPDX-License-Identifier: Apache-2.0
"""The program's own torch.profiler comes first: the recorder lets go of the GPU while it runs.

Every way to start Kineto goes through `_prepare_profiler` and ends in `_disable_profiler`, looked up
in torch.autograd.profiler at each call. CUPTI serves one tool at a time; the rest goes on beside it.
"""
from ._library import library

_yielded = False


def make_way(profiler):
    prepare = profiler._prepare_profiler
    disable = profiler._disable_profiler

    def _prepare_profiler(*args, **kwargs):
        _yield_if_wanted(args, kwargs)
        return prepare(*args, **kwargs)

    def _disable_profiler(*args, **kwargs):
        try:
            return disable(*args, **kwargs)
        finally:
            _resume()

    profiler._prepare_profiler = _prepare_profiler
    profiler._disable_profiler = _disable_profiler


def _yield_if_wanted(args, kwargs):
    global _yielded
    activities = args[1] if len(args) > 1 else kwargs.get("activities", ())
    try:
        device = any(getattr(activity, "name", "") != "CPU" for activity in activities)
    except TypeError:
        device = True  # a signature we do not know: better to yield
    if device and not _yielded:
        _yielded = True
        library.cuda_yield(b"torch.profiler")


def _resume():
    global _yielded
    if _yielded:
        _yielded = False
        library.cuda_resume()

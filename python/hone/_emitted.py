# SPDX-License-Identifier: Apache-2.0
"""Operators by torch's own words, for a torch whose callbacks the recorder does not know.

emit_itt and emit_nvtx make torch name every operator as it begins; the recorder stands where the names
arrive (src/collect/torch_emitted.h, nvtx.cc). They hold for the thread that enters them, for the backward
passes it starts and for workers it forks, and they take the place of the program's own profiler: so they
leave while that runs.
"""
import atexit

_profiler = None  # torch.autograd.profiler, once in use
_kind = None
_entered = None  # on the thread that imported torch
_busy = False  # entering or leaving: what torch's functions are called for is our own doing


def start(torch, trouble):
    """The first way of torch that works, by name; None: none. trouble(): what is missed, None: nothing."""
    global _profiler, _kind
    profiler = torch.autograd.profiler
    for name, works in (("emit_itt", _has_itt), ("emit_nvtx", _has_nvtx)):
        try:
            if not works(torch):
                continue
            _profiler, _kind = profiler, getattr(profiler, name)
            _enter()
            if trouble() is None:
                _step_aside_for_others()
                atexit.register(leave)  # torch would print a warning about what is left
                return "torch.autograd.profiler." + name
            leave()
        except Exception:  # another torch: it is not there, or wants other arguments
            leave()
    return None


def _has_itt(torch):
    return torch.profiler.itt.is_available()


def _has_nvtx(torch):
    return torch.version.cuda is not None and torch.cuda.is_available()


def _enter():
    global _entered, _busy
    if _entered is None:
        entered, _busy = _kind(), True
        try:
            entered.__enter__()
            _entered = entered
        finally:
            _busy = False


def leave():
    global _entered, _busy
    if _entered is not None:
        entered, _entered, _busy = _entered, None, True
        try:
            entered.__exit__(None, None, None)
        except Exception:  # its thread has ended it
            pass
        finally:
            _busy = False


def _step_aside_for_others():
    """Every profiler of torch's begins with one of these functions and ends with the last."""

    def around(function, ends):
        def wrapped(*args, **kwargs):
            if _busy:
                return function(*args, **kwargs)
            leave()
            try:
                return function(*args, **kwargs)
            finally:
                if ends:
                    _enter()

        return wrapped

    for name, ends in (("_prepare_profiler", False), ("_enable_profiler", False),
                       ("_disable_profiler", True)):
        if hasattr(_profiler, name):
            setattr(_profiler, name, around(getattr(_profiler, name), ends))

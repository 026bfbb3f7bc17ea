# SPDX-License-Identifier: Apache-2.0
"""Marks for programs that `hone run` records or `hone bench` measures. Without them they cost a function call
and do nothing.

    for batch in loader:
        with hone.region("forward"):
            loss = model(batch)
        ...
        hone.step()

`hone run` finds the steps of most programs by itself; marks are for those where it does not, and for
names of your own in the timeline.

hone.apply("recipe.json"), in a program's first lines, puts in what `hone tune` found to help it.
"""
import sys as _sys

from ._library import RANGE as _RANGE
from ._library import library as _library

__all__ = ["step", "region", "recording", "apply"]
__version__ = "0.1.0"

# The probe of `hone bench`, where it is in the process.
_probe = _sys.modules.get("_hone._bench")

# Functions that give control away while a region is open: the regions of others would come between.
_CO_SUSPENDS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


def step():
    """Ends a step: call it once at the end of every iteration, on one thread."""
    if _library is not None:
        _library.step()
    if _probe is not None:
        _probe.marked()


def apply(recipe):
    """Puts the treatments of a recipe that `hone tune` wrote into this program: call it before anything
    is built, before or after `import torch`. Raises only where the file cannot be read or is no recipe; a
    treatment that cannot be put in is left out, and the answer, a list of them all, says why.
    """
    session = _sys.modules.get("_hone._session")
    if session is None or session.active is None:
        from . import _session as session
    return session.apply(recipe)


def recording():
    """Whether a window is being recorded just now."""
    return _library is not None and _library.recording() != 0


class region:
    """Names what runs inside: `with hone.region("forward"):`, or `@hone.region("forward")`.

    Regions nest, each thread for itself. One must end where it began: not for generators and
    coroutines, which other code may come between.
    """

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = _bytes(name) if _library is not None else name

    def __enter__(self):
        if _library is not None:
            _library.region_begin(self._name, _RANGE)
        return self

    def __exit__(self, *exception):
        if _library is not None:
            _library.region_end()
        return False

    def __call__(self, function):
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _CO_SUSPENDS:
            raise TypeError(
                "hone.region marks plain functions; mark the lines between the yields and awaits of "
                + getattr(function, "__qualname__", repr(function)) + " by with hone.region(...)")
        if _library is None:
            return function
        import functools

        name = self._name

        @functools.wraps(function)
        def marked(*args, **kwargs):
            _library.region_begin(name, _RANGE)
            try:
                return function(*args, **kwargs)
            finally:
                _library.region_end()

        return marked


def _bytes(name):
    return str(name).encode("utf-8", "backslashreplace").replace(b"\0", b"")

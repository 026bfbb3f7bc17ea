# SPDX-License-Identifier: Apache-2.0
"""When torch.compile compiles: Dynamo's timed phases, by the names that torch.profiler shows.

Newer versions of Dynamo tell of them only where torch.profiler runs (pytorch/pytorch#169858; of older ones
the recorder sees them as they are). What it would tell the profiler it tells the recorder here.
"""
import contextlib

from ._library import RANGE, library, loss

_NAME = "compile_time_record_function"  # a context manager, of torch/_dynamo/utils.py


def imported(utils):
    original = getattr(utils, _NAME, None)
    if library is None or original is None:
        return
    profiler = utils.torch.autograd.profiler
    if not hasattr(profiler, "_is_profiler_enabled"):
        loss("compile", "this torch does not say whether its profiler runs; compiling is not timed")
        return

    @contextlib.contextmanager
    def told(name):
        # A profiler of the program's own hears it, and by it the recorder.
        if profiler._is_profiler_enabled or not library.recording():
            with original(name):
                yield
            return
        library.region_begin(name.encode("utf-8", "replace"), RANGE)
        try:
            yield
        finally:
            library.region_end()

    setattr(utils, _NAME, told)

# SPDX-License-Identifier: Apache-2.0
"""What happens in a recorded process when Python is up and before the program runs.

Everything here is done once, costs a few milliseconds together, and fails alone: what goes wrong is
told to the recorder, which puts it into the file, and never to the program.
"""
import os
import sys

from ._library import info, library, loss


def start():
    if os.environ.get("HONE_BENCH_DIR"):
        _start_probe()
    if os.environ.get("HONE_TUNE") or os.environ.get("HONE_RECIPE"):
        _start_session()
    if library is None:
        return
    library.start()
    for what, part in (("process", _tell_process), ("python", _learn_frames), ("fork", _keep_silent),
                       ("torch", _wait_for_torch)):
        try:
            part()
        except Exception as trouble:
            loss(what, "the recorder's own Python failed: " + repr(trouble))


def _start_probe():
    try:
        from . import _bench

        _bench.start(os.environ["HONE_BENCH_DIR"])
    except Exception:
        pass  # hone bench says that it saw nothing


def _start_session():
    try:
        from . import _session

        _session.start(os.environ)
    except Exception as trouble:
        loss("recipe", "the treatments could not be started: " + repr(trouble))


def _tell_process():
    info("python", sys.version.split()[0] + " " + sys.implementation.name)


def _learn_frames():
    from . import _known_stack

    _known_stack.learn(library)
    library.framework(os.fsencode(os.path.join(os.path.dirname(os.path.abspath(__file__)), "")), 1)


def _keep_silent():
    if sys.version_info >= (3, 12):
        from . import _fork

        _fork.keep_silent()


def _wait_for_torch():
    from . import _import_hook

    _import_hook.after_import("torch", _torch_is_here)
    _import_hook.after_import("torch.utils.data._utils.fetch", _loader_is_here)
    _import_hook.after_import("torch._dynamo.utils", _dynamo_is_here)
    _import_hook.after_import("torch._dynamo.eval_frame", _dynamo_takes_hooks)
    _import_hook.after_import("torch.distributed.distributed_c10d", _distributed_is_here)
    _import_hook.offer_marks()


def _torch_is_here(module):
    from . import _torch

    _torch.imported(module)


def _loader_is_here(module):
    from . import _loader

    _loader.imported(module)


def _distributed_is_here(module):
    from . import _distributed

    _distributed.imported(module)


def _dynamo_takes_hooks(module):
    from . import _optimizer

    _optimizer.imported(module)


def _dynamo_is_here(module):
    from . import _compile

    _compile.imported(module)

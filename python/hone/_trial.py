# SPDX-License-Identifier: Apache-2.0
"""A trial of `hone tune` inside the program: counts its steps, leaves it in time, writes what was seen."""
import atexit
import json
import os
import sys
from time import monotonic_ns as _now

from . import _bench, _seeds

# The first run, whose length nobody knows yet: so many steps to warm up, none of the last of them
# compiling; then so many more, and the seconds that were asked for.
_WARM_UP, _QUIET, _STEADY = 10, 5, 20
_TOGETHER = 50  # where several ranks must leave at the same step, time is no rule
_WAIT_FOR_RANKS_S = 10.0


class Trial:
    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        order = session.order
        self.steps = int(order.get("steps", 0))
        self.seconds = float(order.get("seconds", 0))
        if self.steps == 0 and session.seen.world > 1:
            self.steps = _TOGETHER
        self.count, self.source = 0, None
        self.graphs = 0
        self.grew = []       # steps that compiled
        self.warm_ns = self.warm_step = 0
        self.written, self.looking = False, True
        _seeds.start(session)
        self.losses = self.batches = self.looks = None
        session.after_import("torch", self._torch_is_here)
        atexit.register(self.finish, "exit")
        leave = os._exit

        def _exit(status):
            self.finish("exit")
            leave(status)

        self.leave, os._exit = leave, _exit

    def _torch_is_here(self, torch):
        if self.session.torch is None:
            return  # a module of the program's own that has the same name
        from ._batches import Batches
        from ._looks import Looks
        from ._losses import Losses

        session = self.session
        self.losses, self.batches, self.looks = Losses(session), Batches(session), Looks(session)
        _bench.listeners.append(self)

    # What the probe tells.

    def handed_out(self, iterator, batch, waited_ns):
        try:
            self.batches.handed_out(iterator, batch, waited_ns)
        except Exception as trouble:  # ours, never the program's
            self.session.trouble = repr(trouble)

    def led(self, source):
        self.losses.led()
        del self.grew[:]

    def step_ended(self, count, source):
        if not self.session.here():
            return
        self.count, self.source = count, source
        self.losses.step_ended()
        if self.looking:
            self.session.roots.step_ended(count)
            self.looks.step_ended(count)
            self.looking = bool(self.looks.patches) or not self.session.roots.stopped
        self._notice_graphs(count)
        if self._is_enough(count, source):
            self.finish("steps")
            self._go(0)

    def _notice_graphs(self, count):
        utils = sys.modules.get("torch._dynamo.utils")
        if utils is None:
            return
        graphs = utils.counters["stats"].get("unique_graphs", 0)
        if graphs != self.graphs:
            self.graphs = graphs
            self.grew.append(count)

    def _is_enough(self, count, source):
        if source == _bench.LOADER and self.session.seen.optimizers:
            return False  # batches of an evaluation before the training, whose optimizer is still to step
        if self.steps:
            return count >= self.steps
        if not self.warm_step:
            if count >= _WARM_UP and not (self.grew and self.grew[-1] > count - _QUIET):
                self.warm_step, self.warm_ns = count, _now()
            return False
        return count >= self.warm_step + _STEADY and _now() - self.warm_ns >= self.seconds * 1e9

    # The end.

    def finish(self, how):
        """Writes the files, once. What is done here is not the program's: the probe has written before."""
        if self.written or not self.session.here():
            return
        self.written = True
        _bench.write(how)
        self.session.own += 1
        try:
            document = self._document(how)
        except Exception as trouble:
            document = {"trouble": repr(trouble)}
        if self.session.trouble is not None:
            document.setdefault("trouble", self.session.trouble)
        path = os.path.join(self.folder, "tune-%d.json" % os.getpid())
        try:
            with open(path + ".new", "w") as file:
                json.dump(dict({"version": 1, "pid": os.getpid()}, **document), file, sort_keys=False)
            os.rename(path + ".new", path)
        except Exception:
            pass  # the folder is gone: hone tune says that nothing came

    def _document(self, how):
        session, torch = self.session, self.session.torch
        exception = _exception(torch) if how == "exit" else None
        document = {
            "rank": _number("RANK", 0), "world": session.seen.world, "device": session.seen.device,
            "torch": getattr(torch, "__version__", None), "ended": "exception" if exception else how,
            "exception": exception, "effects": session.effects(),
            "recompiles": sum(step > _WARM_UP for step in self.grew)}
        if torch is None:
            return dict(document, losses=[], gradient_norms=[], skipped_steps=0, batches=None, samples_per_step=None,
                        peak_device_bytes=None, device_bytes=None, patch="")
        from . import _description

        document.update(self.losses.told())
        if exception is None:
            session.quietly(self.batches.ask_again)
        document["batches"] = session.quietly(self.batches.told)
        document["samples_per_step"] = None if _bench.samples() else session.roots.samples_per_step()
        _description.complete(session, self)
        document["peak_device_bytes"] = session.seen.peak_device_bytes
        document["device_bytes"] = session.seen.device_bytes
        if session.order.get("describe"):
            document.update(_description.told(session))
        document["patch"] = _description.patch(session)
        return document

    def _go(self, status):
        _flush()
        self._wait_for_ranks()
        _end_workers()
        self.leave(status)

    def _wait_for_ranks(self):
        """Who leaves while others still hear from it makes them fail: all ranks of this machine go together."""
        count = self.session.seen.local_world
        if count <= 1 or "LOCAL_RANK" not in os.environ:
            return
        import time

        prefix = "left-%s-" % os.environ.get("TORCHELASTIC_RUN_ID", "").replace(os.sep, "_")
        open(os.path.join(self.folder, prefix + os.environ["LOCAL_RANK"]), "w").close()
        end = time.monotonic() + _WAIT_FOR_RANKS_S
        while time.monotonic() < end:
            if sum(name.startswith(prefix) for name in os.listdir(self.folder)) >= count:
                return
            time.sleep(0.01)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    try:
        import ctypes

        ctypes.CDLL(None).fflush(None)  # what C wrote
    except Exception:
        pass


def _end_workers():
    # Loaders' workers would notice within seconds; until then they hold the program's output open.
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return
    try:
        for child in multiprocessing.active_children():
            if child.daemon:
                child.kill()
                child.join(1)
    except Exception:
        pass


def _exception(torch):
    """The exception that ends the program, or None. Python keeps it, whoever has printed it."""
    exception = getattr(sys, "last_value", None)
    if not isinstance(exception, BaseException):
        return None
    from . import _sites

    kind = type(exception)
    module = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
    text = str(exception).strip()
    return {"type": module + kind.__qualname__, "class": "oom" if _is_oom(torch, exception) else "error",
            "message": text.split("\n")[0][:500], "where": _sites.site_of_traceback(exception.__traceback__)}


def _is_oom(torch, exception):
    kinds = [MemoryError]
    for owner in (torch, getattr(torch, "cuda", None)):
        kind = getattr(owner, "OutOfMemoryError", None)
        if isinstance(kind, type):
            kinds.append(kind)
    seen = 0
    while exception is not None and seen < 16:
        # The host's allocator of torch has no type of its own.
        if isinstance(exception, tuple(kinds)) or "DefaultCPUAllocator: can't allocate memory" in str(exception):
            return True
        exception, seen = exception.__cause__, seen + 1
    return False


def _number(name, default):
    try:
        return int(os.environ.get(name, default))
    except ValueError:
        return default

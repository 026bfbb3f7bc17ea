# SPDX-License-Identifier: Apache-2.0
"""A trial of `hone tune` inside the program: counts its steps, leaves it in time, writes what was seen."""
import atexit
import json
import os
import sys
from time import monotonic_ns as _now

from . import _bench, _ranks, _seeds

# The first run, whose length nobody knows yet: so many steps to warm up, none of the last of them
# compiling; then so many more, and the seconds that were asked for.
_WARM_UP, _QUIET, _STEADY = 10, 5, 20
_TOGETHER = 50  # where several ranks must leave at the same step, time is no rule
_WAIT_FOR_RANKS_S = 10.0
_DRAWS_SEEN = 4  # steps in which it is seen whether the program draws random numbers


class Enough:
    """When a program has run long enough."""

    def __init__(self, order):
        self.steps = int(order.get("steps", 0))
        self.seconds = float(order.get("seconds", 0))
        # Where that takes no longer, so many more that the whole of a longer trial can be compared with it.
        self.guard_steps, self.guard_s = int(order.get("guard_steps", 0)), float(order.get("guard_s", 0))
        self.graphs = 0
        self.grew = []       # steps that compiled
        self.warm_ns = self.warm_step = 0

    def step_ended(self, count):
        """Whether this step is the last. Those that find their batch ready, because the first step or a look
        took its time, come on top: they are left out of the rate."""
        self._notice_graphs(count)
        if count == 1 and self.steps == 0 and _ranks.world() > 1:
            self.steps = _TOGETHER
        stock = _bench.stock()
        if self.steps:
            return count >= self.steps + stock * max(1, _bench.looks())
        if not self.warm_step:
            if count >= _WARM_UP + stock and not (self.grew and self.grew[-1] > count - _QUIET):
                self.warm_step, self.warm_ns = count, _now()
            return False
        steady, seconds = count - self.warm_step, (_now() - self.warm_ns) * 1e-9
        if steady < _STEADY or seconds < self.seconds:
            return False
        if count < self.guard_steps and (self.guard_steps - count) * seconds / steady <= self.guard_s:
            self.steps = self.guard_steps
            return False
        return True

    def _notice_graphs(self, count):
        utils = sys.modules.get("torch._dynamo.utils")
        if utils is None:
            return
        graphs = utils.counters["stats"].get("unique_graphs", 0)
        if graphs != self.graphs:
            self.graphs = graphs
            self.grew.append(count)


class Recorded:
    """The run that the doctor looks at: left in time, and nothing else. What a trial does to a program, its
    looks, norms and waits, would stand in the recording as if the program did it."""

    def __init__(self, order):
        self.pid = os.getpid()
        self.order, self.enough = order, Enough(order)
        self.trains = False  # an optimizer is there that has not stepped yet
        self.stepping = False
        atexit.register(_steps_over, _bench.folder())
        _bench.only_steps()
        _bench.listeners.append(self)

    def handed_out(self, iterator, batch, waited_ns):
        pass

    def led(self, source):
        del self.enough.grew[:]

    def step_ended(self, count, source):
        if os.getpid() != self.pid:
            return
        if not self.stepping:
            self.stepping = True
            _tell_stepping(_bench.folder())
        if source == _bench.LOADER and self.trains:
            return
        if not self.enough.step_ended(count):
            return
        if source == _bench.LOADER and _has_optimizer():
            # Batches of an evaluation before the training.
            self.trains, self.enough = True, Enough(self.order)
            return
        _bench.write("steps")
        _go(os._exit, _bench.folder())


class Trial:
    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        order = session.order
        self.enough = Enough(order)
        if not order.get("compared"):
            # Looked at steps do not count, and only a comparison asks twice what the work was.
            _bench.look_at((3,) if order.get("describe") else ())
        self.count, self.source = 0, None
        self.written, self.looking, self.stepping = False, True, False
        _seeds.start(session)
        self.losses = self.batches = self.looks = self.drawn = None
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
        if self.enough.steps and self.count >= self.enough.steps:
            return  # on top of what was asked for: what others had is described
        try:
            self.batches.handed_out(iterator, batch, waited_ns)
            if self.count < _DRAWS_SEEN and self.session.here():
                self.drawn = self.session.torch.get_rng_state()
        except Exception as trouble:  # ours, never the program's
            self.session.trouble = repr(trouble)

    def led(self, source):
        """Steps that ended before were not those of the training: an evaluation, most likely."""
        self.losses.led()
        del self.enough.grew[:]
        self.session.roots.go_on()
        self.looks.go_on()
        self.looking, self.drawn = True, None

    def step_ended(self, count, source):
        if not self.session.here():
            return
        if not self.stepping:
            self.stepping = True
            _tell_stepping(self.folder)
        self.count, self.source = count, source
        if source == _bench.LOADER and self.session.seen.optimizers:
            self.drawn = None
            return  # batches of an evaluation before the training, whose optimizer is still to step
        if self.drawn is not None:
            before, self.drawn = self.drawn, None
            self.session.seen.draws |= not self.session.torch.equal(before, self.session.torch.get_rng_state())
        self.losses.step_ended()
        if self.looking:
            self.session.roots.step_ended(count)
            self.looks.step_ended(count)
            self.looking = bool(self.looks.patches) or not self.session.roots.stopped
        if self.enough.step_ended(count):
            self.finish("steps")
            _go(self.leave, self.folder)

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
        if how != "steps":
            _steps_over(self.folder)

    def _document(self, how):
        session, torch = self.session, self.session.torch
        exception = _exception(torch) if how == "exit" else None
        document = {
            "rank": _ranks.rank(), "world": _ranks.world(), "device": session.seen.device,
            "torch": getattr(torch, "__version__", None), "ended": "exception" if exception else how,
            "exception": exception, "effects": session.effects(),
            "recompiles": sum(step > _WARM_UP for step in self.enough.grew)}
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


def _has_optimizer():
    import gc

    module = sys.modules.get("torch.optim.optimizer")
    return module is not None and any(issubclass(type(thing), module.Optimizer) for thing in gc.get_objects())


def _go(leave, folder):
    _flush()
    _wait_for_ranks(folder)
    _end_workers()
    _tell_done(folder)
    leave(0)


# Who steps and who has left, as files. A program may wait for ever for a result of the process that
# left; hone ends it a few seconds after the last one that steps is done.

def _tell_stepping(folder):
    """With its start, the space that its number counts in and its ranks: whether it lives can be told from outside."""
    text = ""
    try:
        with open("/proc/self/stat") as file:
            start = file.read().rpartition(")")[2].split()[19]
        text = "%s %s %d\n" % (start, os.readlink("/proc/self/ns/pid"), _ranks.world())
    except (OSError, IndexError):
        pass
    path = os.path.join(folder, "stepping-%d" % os.getpid())
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        pass


def _tell_done(folder):
    try:
        os.rename(os.path.join(folder, "stepping-%d" % os.getpid()), os.path.join(folder, "done-%d" % os.getpid()))
    except OSError:
        pass


def _steps_over(folder):
    """The process ends by itself: nobody is to wait for its steps."""
    try:
        os.unlink(os.path.join(folder, "stepping-%d" % os.getpid()))
    except OSError:
        pass


def _wait_for_ranks(folder):
    """Who leaves while others still hear from it makes them fail: all ranks of this machine go together."""
    count = _ranks.local_world()
    if count <= 1:
        return
    import time

    prefix = "left-%s-" % os.environ.get("TORCHELASTIC_RUN_ID", "").replace(os.sep, "_")
    open(os.path.join(folder, "%s%d" % (prefix, _ranks.rank())), "w").close()
    end = time.monotonic() + _WAIT_FOR_RANKS_S
    while time.monotonic() < end:
        if sum(name.startswith(prefix) for name in os.listdir(folder)) >= count:
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
    fate = "oom" if _is_oom(torch, exception) else "disk" if _is_full_disk(exception) else "error"
    return {"type": module + kind.__qualname__, "class": fate,
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


def _is_full_disk(exception):
    import errno

    seen = 0
    while exception is not None and seen < 16:
        if isinstance(exception, OSError) and exception.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        exception, seen = exception.__cause__ or exception.__context__, seen + 1
    return False


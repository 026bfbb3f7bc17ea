# SPDX-License-Identifier: Apache-2.0
"""The probe of `hone bench`: when the steps of a program end, and what it worked on.

Stamps are kept in memory and written when the process ends; a step costs a few microseconds. Three
things can end a step, the first of them that a program has counts: hone.step(), a step of its first
optimizer, a batch that a DataLoader hands out. What the work was is looked at in a few steps only
(_bench_work), which are left out of the times.

The clocks are C functions, taken before the program runs: what it does to `time` later does not reach
them, and is told.
"""
import atexit
import os
import sys
import time
from array import array
from time import monotonic_ns as _now
from time import process_time_ns as _cpu

_CLOCKS = {name: getattr(time, name) for name in (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
    "sleep")}

MARK, OPTIMIZER, LOADER = 0, 1, 2
_NAMES = ("mark", "optimizer", "loader")

# A block is at least so many steps and so long; at its edge the device is waited for. A wait drains the
# queue of launches once: of eight steps that is little, and never is a step waited for by itself.
_BLOCK_STEPS, _BLOCK_NS = 8, 200000000


def _uptime():
    """The kernel's own count in seconds, read as a text: what replaces the C library's clock leaves it."""
    try:
        with open("/proc/uptime") as file:
            return float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None


_folder = None
_pid = 0
_begin = 0
_begin_uptime = None
_torch = None
_work = None  # _bench_work.Work, with torch

_steps = tuple(array("q") for _ in _NAMES)
_leader = LOADER + 1
_samples, _waits, _edges, _growth, _looked = array("q"), array("q"), [], [], []
_sample_count = _wait_ns = 0
_pending = {}  # dataset: samples since the last step
_last_dataset = None
_stock = 0  # batches that loaders' workers may have ready: whenever the program is slow for once, they fill up
_first_optimizer = None
_edge_step, _edge_ns, _last_cpu = 0, 0, 0
_counters = None  # dynamo's
_graphs = 0
_written = False
_quiet = False  # only_steps()
# Steps whose operators are looked at: early, then again, so that work dropped later shows.
_looked_at = frozenset((3, 24, 96, 384, 1536))
_MOST_MISSES = 5  # looks that show nothing are taken again in the next step
_trouble = None
# Who else wants to know (hone tune): step_ended(count, source), led(source), handed_out(iterator, batch, waited_ns).
listeners = []


def start(folder):
    global _folder, _pid, _begin, _begin_uptime
    _folder, _pid = folder, os.getpid()
    _begin_uptime, _begin = _uptime(), _now()
    from . import _import_hook

    _import_hook.after_import("torch.optim.optimizer", _optimizers_are_here)
    _import_hook.after_import("torch.utils.data.dataloader", _loaders_are_here)
    _import_hook.after_import("torch.amp.autocast_mode", _autocast_is_here)
    _import_hook.offer_marks()
    atexit.register(_write, "exit")
    leave = os._exit

    def _exit(status):
        _write("_exit")
        leave(status)

    os._exit = _exit


def write(how):
    """Now: what runs from here on is not the program's."""
    _write(how)


def only_steps():
    """Counts steps, and neither looks at them nor waits for devices."""
    global _quiet
    _quiet = True


def look_at(steps):
    """Looks at these steps only."""
    global _looked_at
    _looked_at = frozenset(steps)


def stock():
    """Batches that may lie ready when the program has been slow, so that as many steps do not wait for any."""
    return _stock


def looks():
    """Steps that were looked at so far."""
    return len(_looked)


def folder():
    return _folder


def wait_share():
    """Of the time between the first and the last step, how much was spent waiting for batches; or None."""
    stamps = _steps[_leader] if _leader <= LOADER else ()
    if len(stamps) < 3 or len(_waits) < len(stamps):
        return None
    return (_waits[-1] - _waits[0]) / max(1, stamps[-1] - stamps[0])


def step_seconds():
    """Of a step, mean; 0.0 without steps."""
    stamps = _steps[_leader] if _leader <= LOADER else ()
    return (stamps[-1] - stamps[0]) * 1e-9 / (len(stamps) - 1) if len(stamps) > 1 else 0.0


def samples():
    return _samples[-1] if _samples else 0


def work():
    """_bench_work.Work, or None."""
    return _work


def marked():
    """hone.step()"""
    _ended(MARK)


def _autocast_is_here(module):
    from . import _bench_work

    _bench_work.autocast_is_here(module)


def _optimizers_are_here(module):
    module.register_optimizer_step_post_hook(_optimizer_stepped)


def _optimizer_stepped(optimizer, args, kwargs):
    global _first_optimizer
    if optimizer is not _first_optimizer:
        if _first_optimizer is not None:
            return
        _first_optimizer = optimizer
    _ended(OPTIMIZER)


def _loaders_are_here(module):
    iterator = module._BaseDataLoaderIter
    original = iterator.__next__

    def __next__(self):
        if _work is not None and _work.profile is not None:
            if _leader < LOADER:
                with _work.loading():
                    return hand_out(self)
            _guarded(_work.end_look)  # the step is over where the next batch is asked for
        return hand_out(self)

    def hand_out(self):
        global _wait_ns
        begin = _now()
        batch = original(self)
        waited = _now() - begin
        _wait_ns += waited
        if _trouble is None and os.getpid() == _pid:
            _guarded(_handed_out, self, batch)
            for listener in listeners:
                listener.handed_out(self, batch, waited)
        return batch

    iterator.__next__ = __next__


def _guarded(function, *arguments):
    global _trouble
    try:
        function(*arguments)
    except Exception as trouble:  # ours, never the program's
        _trouble = repr(trouble)


def _handed_out(iterator, batch):
    global _last_dataset, _stock
    if _work is None:
        _find_torch()
    ready = getattr(iterator, "_num_workers", 0) * (getattr(iterator, "_prefetch_factor", 0) or 0)
    if ready > _stock:
        _stock = ready
    _last_dataset = id(getattr(iterator, "_dataset", None))
    size = _work.batch(batch) if _work is not None and not _quiet else 0
    if _leader >= LOADER:
        _ended(LOADER)  # what came before this batch is a step; it belongs to the next one
    _pending[_last_dataset] = _pending.get(_last_dataset, 0) + size


def _find_torch():
    global _torch, _work
    _torch = sys.modules.get("torch")
    if _torch is not None and hasattr(_torch, "_C"):
        from . import _bench_work

        _work = _bench_work.Work(_torch)


def _ended(source):
    if _trouble is None:
        _guarded(_end_step, source)


def _end_step(source):
    """A step ended. The best source that was seen leads: its steps are those that are measured."""
    global _last_cpu, _sample_count, _graphs
    now = _now()
    stamps = _steps[source]
    stamps.append(now)
    if source != _leader:
        if source > _leader:
            return
        _lead(source)
    _sample_count += _pending.get(_last_dataset, 0)
    _pending.clear()
    _samples.append(_sample_count)
    _waits.append(_wait_ns)
    count = len(stamps)
    _last_cpu = _cpu()
    if _work is not None and _work.profile is not None:
        _work.end_look()  # no optimizer's call ended it
    if _counters is not None and _counters["stats"]["unique_graphs"] != _graphs:
        _graphs = _counters["stats"]["unique_graphs"]
        _growth.append(count)
    if not _quiet:
        again = _work is not None and _work.missed and _work.misses < _MOST_MISSES
        if again or count in _looked_at:
            _look(count)
        if count - _edge_step >= _BLOCK_STEPS and now - _edge_ns >= _BLOCK_NS or count == 1:
            _edge(count)
    for listener in listeners:
        listener.step_ended(count, source)


def _lead(source):
    # Edges and samples of the source that led so far are not this one's.
    global _leader, _edge_step, _edge_ns
    _leader = source
    _edge_step, _edge_ns = 0, _begin
    count = len(_steps[source]) - 1
    for series in (_samples, _waits):
        del series[:]
        series.extend([0] * count)
    del _edges[:], _growth[:], _looked[:]
    if _work is not None:
        _guarded(_work.drop_looks)
    for listener in listeners:
        listener.led(source)


def _look(count):
    """Looks at the operators of the step that begins now."""
    global _counters
    if _work is None:
        _find_torch()
    if _work is None:
        return
    utils = sys.modules.get("torch._dynamo.utils")
    if _counters is None and utils is not None:
        _counters = getattr(utils, "counters", None)
    if _work.look(_first_optimizer if _leader == OPTIMIZER else None):
        _looked.append(count)


def _edge(count):
    global _edge_step, _edge_ns
    reserved = -1
    if _cuda_in_use():
        reserved = _wait_for_devices()
    _edge_step, _edge_ns = count, _now()
    _edges.append([count, _edge_ns - _begin, _cpu(), reserved])


def _wait_for_devices():
    """The whole device, not a stream: work on another stream is part of the block too."""
    reserved = 0
    for device in range(_torch.cuda.device_count()):
        bytes_here = _reserved(device)
        if bytes_here:
            _torch.cuda.synchronize(device)
            reserved += bytes_here
    return reserved


def _reserved(device):
    """torch.cuda.memory_reserved, which builds, flattens and sorts all counters for the one, takes a millisecond."""
    try:
        return _torch._C._cuda_memoryStats(device)["reserved_bytes"]["all"]["current"]
    except Exception:  # not this torch's way
        return _torch.cuda.memory_reserved(device)


def _cuda_in_use():
    if _torch is None:
        _find_torch()
    cuda = getattr(_torch, "cuda", None)
    return cuda is not None and cuda.is_initialized()


def _write(how):
    global _written
    if _written or os.getpid() != _pid:
        return
    _written = True
    try:
        _write_file(how)
    except Exception as trouble:
        _write_json({"version": 1, "pid": _pid, "trouble": repr(trouble)})


def _write_file(how):
    last_cpu, tail_begin = _last_cpu, _now()
    if _edges and _cuda_in_use():
        _wait_for_devices()  # what is still running there belongs to the last step
    tail_sync = _now() - tail_begin
    stamps = _steps[_leader] if _leader <= LOADER else array("q")
    end, uptime = _now(), _uptime()
    document = {
        "version": 1, "pid": _pid, "rank": os.environ.get("RANK", ""), "argv": sys.argv[:64],
        "begin_ns": _begin, "end_ns": end, "ended": how,
        "uptime_s": uptime - _begin_uptime if uptime is not None and _begin_uptime is not None else None,
        "source": _NAMES[_leader] if _leader <= LOADER else "",
        "steps_ns": [stamp - _begin for stamp in stamps],
        "samples": list(_samples), "waits_ns": list(_waits), "edges": _edges, "growth": _growth,
        "looked": _looked, "stock": _stock,
        "tail_s": (tail_begin - stamps[-1]) * 1e-9 if stamps else 0,
        "tail_cpu_s": (_cpu() - last_cpu) * 1e-9 if stamps else 0,
        "tail_sync_s": tail_sync * 1e-9, "cpu_s": _cpu() * 1e-9,
        "clocks": [name for name, clock in _CLOCKS.items() if getattr(time, name, None) is not clock],
    }
    if _trouble is not None:
        document["trouble"] = _trouble
    if _work is not None:
        document.update(_work.told())
    _write_json(document)


def _write_json(document):
    import json

    path = os.path.join(_folder, "probe-%d.json" % _pid)
    with open(path + ".new", "w") as file:
        json.dump(document, file)
    os.rename(path + ".new", path)

# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader is, and whether it can have worker processes that hand out the same batches."""
import sys

from ._seen import Loader

# Objects of the program: their kind is told, they are not kept.
_OBJECTS = ("dataset", "sampler", "batch_sampler", "collate_fn", "worker_init_fn", "generator")
# Streams that share themselves out among workers.
_SHARING = ("datasets.", "webdataset.", "torch.utils.data.datapipes.", "streaming.", "litdata.")


def facts(loader, given, torch):
    arguments = {name: (type(value).__name__ if name in _OBJECTS and value is not None else value)
                 for name, value in given.items()}
    stream = is_stream(given.get("dataset"))
    return Loader(arguments=arguments, dataset=id(given.get("dataset")), iterable=stream,
                  sharded=stream and shares(given["dataset"]), batch_size=_batch_size(given),
                  length=None if stream else _length(given.get("dataset")),
                  why_not=why_no_workers(given, 1 if stream else 2))


def _batch_size(given):
    """As the program gave it, not as a treatment made it; None where it makes its batches itself."""
    return None if given.get("batch_sampler") is not None else given.get("batch_size", 1)


def is_shuffled(loader):
    """Asked when it begins to hand out: libraries give it another sampler when it is made."""
    sampler, batches, deep = None, loader.batch_sampler, 0
    while sampler is None and batches is not None and deep < 4:  # accelerate's hold the program's
        sampler, batches, deep = getattr(batches, "sampler", None), getattr(batches, "batch_sampler", None), deep + 1
    if deep == 0:
        sampler = loader.sampler
    samplers = sys.modules["torch.utils.data.sampler"]
    drawn = (samplers.RandomSampler, samplers.SubsetRandomSampler, samplers.WeightedRandomSampler)
    # One that is made of these and goes its own way (accelerate's) seeds a generator of its own.
    is_drawn = any(getattr(type(sampler), "__iter__", None) is kind.__iter__ for kind in drawn)
    return is_drawn and sampler.generator is loader.generator


def _length(dataset):
    try:
        return len(dataset)
    except Exception:
        return None


def is_stream(dataset):
    data = sys.modules["torch.utils.data.dataset"]
    return isinstance(dataset, data.IterableDataset)


def shares(dataset):
    """Whether a stream asks which worker it is in; each worker gives all of it otherwise."""
    import inspect

    for kind in type(dataset).__mro__:
        if kind.__module__.startswith(_SHARING):
            return True
        if kind.__module__.startswith("torch."):
            break
        try:
            source = inspect.getsource(kind)
        except (OSError, TypeError):
            continue
        if "worker_info" in source:
            return True
    return False


def why_no_workers(given, count):
    """Why a loader with these arguments cannot have `count` worker processes; empty: it can."""
    dataset = given.get("dataset")
    if count > 1 and is_stream(dataset) and not shares(dataset):
        return ("%s is a stream that does not ask which worker it is in: each of %d workers would give all of "
                "it" % (type(dataset).__name__, count))
    method = _start_method(given.get("multiprocessing_context"))
    if method == "fork":
        return ""
    if not _main_is_guarded():
        return ("processes are started by %s here, which runs the script again, and it has no "
                "if __name__ == \"__main__\"" % method)
    for name in ("dataset", "collate_fn", "worker_init_fn"):
        trouble = why_not_picklable(given.get(name))
        if trouble:
            return "processes are started by %s here, and the %s cannot be sent to them: %s" % (
                method, "dataset" if name == "dataset" else name, trouble)
    return ""


def _start_method(context):
    import multiprocessing

    if isinstance(context, str):
        return context
    if context is not None:
        return context.get_start_method()
    # Not to be settled by asking: the program may still set it.
    chosen = multiprocessing.get_start_method(allow_none=True)
    return chosen or multiprocessing.get_all_start_methods()[0]


def _main_is_guarded():
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        with open(path, errors="replace") as file:
            return "__main__" in file.read()
    except (OSError, TypeError):
        return False


def why_not_picklable(thing):
    """Empty: it can be pickled, as far as the first 64 MiB of it tell."""
    if thing is None:
        return ""
    from multiprocessing.reduction import ForkingPickler

    try:
        ForkingPickler(_Nowhere()).dump(thing)
    except _Enough:
        pass
    except Exception as trouble:
        return "%s: %s" % (type(trouble).__name__, str(trouble).split("\n")[0][:200])
    return ""


class _Enough(Exception):
    pass


class _Nowhere:
    def __init__(self):
        self.size = 0

    def write(self, data):
        self.size += len(data)
        if self.size > 64 << 20:
            raise _Enough
        return len(data)

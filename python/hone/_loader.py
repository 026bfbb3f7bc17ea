# SPDX-License-Identifier: Apache-2.0
"""How long a DataLoader's worker fetches and collates: the two `fetch` methods of torch's fetchers.

A wrapper would stand in every traceback that a dataset raises. Instead the methods' own code is
compiled again from their source with the marks put in, at the same lines of the same file: what the
program sees of an exception is what it always sees. Where there is no source, a wrapper it is.
"""
import os

from ._library import LOADER, info, library, loss

_CLASSES = ("_MapDatasetFetcher", "_IterableDatasetFetcher")
_told = False


def imported(fetch_module):
    if library is None:
        return
    from . import _marked_code

    fetch_module._hone_fetch = _begin_fetch
    fetch_module._hone_collate = _begin_collate
    fetch_module._hone_end = library.region_end
    for name in _CLASSES:
        method = getattr(getattr(fetch_module, name, None), "fetch", None)
        if method is None:
            loss("loader", "this torch has no %s.fetch; loading is not timed" % name)
            continue
        if not _marked_code.mark(fetch_module, name, method):
            getattr(fetch_module, name).fetch = _wrapped(method)
    os.register_at_fork(after_in_child=_forget)


def _begin_fetch():
    if not _told:
        _tell_role()
    library.region_begin(b"DataLoader.fetch", LOADER)


def _begin_collate():
    library.region_begin(b"DataLoader.collate", LOADER)


def _wrapped(method):
    import functools

    @functools.wraps(method)
    def fetch(self, possibly_batched_index):
        _begin_fetch()
        try:
            return method(self, possibly_batched_index)
        finally:
            library.region_end()

    return fetch


def _tell_role():
    global _told
    _told = True
    from torch.utils.data import get_worker_info

    worker = get_worker_info()
    # Workers may also be threads of the training process: then it keeps its own role.
    if worker is None or getattr(worker, "worker_method", None) == "thread":
        return
    info("role", "loader worker %d" % worker.id)
    info("loader_worker", worker.id)
    info("loader_workers", worker.num_workers)
    info("loader_parent_pid", os.getppid())


def _forget():
    global _told
    _told = False

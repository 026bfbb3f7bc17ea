# SPDX-License-Identifier: Apache-2.0
"""Checksums of the batches a program was given: a treatment of its loaders must not change them.

The order is that of the indices which the samplers gave, by batch as it was handed out: worker
processes are asked ahead, so indices wait in their iterator's queue until their batch comes. Values are
copied where they are handed out, of a large tensor every so manieth, and read when the program is over: a
batch costs some microseconds a tensor, wherever that lies.
"""
import collections
import ctypes
import hashlib
import os
import sys
import time

from ._loader_facts import is_shuffled
from ._losses import plain

_FIRST = 64        # batches that are described
_ALL, _SOME = 8192, 4096  # values: so many are all read, of more so many
_LEAVES = 32       # tensors and other values of a batch
_ASKED, _ASKING_S = 4, 2.0


class Batches:
    def __init__(self, session):
        self.session = session
        self.count = 0
        self.order, self.order_known = hashlib.blake2b(digest_size=8), True
        self.values = []     # (what it is, whether it is a label, a tensor or the bytes of something else)
        self.random = self.random_labels = False
        self.first = None    # what the first batch was fetched by, and its indices
        self.streamed = 0
        self.first_epoch = None  # the order, and how many values there were, when a loader began again
        self.patches = []
        session.after_import("torch.utils.data.dataloader", self._loaders_are_here)

    def _loaders_are_here(self, module):
        patch, base = self.session.patch, module._BaseDataLoaderIter
        patch(base, "__init__", self._make_init)
        self.patches = [patch(base, "_reset", self._make_reset), patch(base, "_next_index", self._make_next_index),
                        patch(module._SingleProcessDataLoaderIter, "_next_data", self._make_next_data)]

    def _make_init(self, original):
        def __init__(iterator, loader):
            seen = self.session.loader_seen(loader)
            iterator._hone = (seen, collections.deque(maxlen=4096))  # indices that were asked for
            if seen is not None:
                seen.shuffled = bool(self.session.quietly(is_shuffled, loader))
            self._epoch_begins(seen)
            original(iterator, loader)

        return __init__

    def _make_reset(self, original):
        def _reset(iterator, loader, first_iter=False):
            known = getattr(iterator, "_hone", None)
            if known is not None:
                known[1].clear()  # an epoch that was left early has asked ahead
                if not first_iter:
                    self._epoch_begins(known[0])
            return original(iterator, loader, first_iter)

        return _reset

    def _epoch_begins(self, seen):
        if seen is not None:
            seen.epochs += 1
            if seen.epochs == 2 and self.first_epoch is None:
                self.first_epoch = (self.order.copy(), len(self.values))

    def _make_next_index(self, original):
        def _next_index(iterator):
            index = original(iterator)
            known = getattr(iterator, "_hone", None)
            if known is not None:
                known[1].append(index)
            return index

        return _next_index

    def _make_next_data(self, original):
        def _next_data(iterator):
            # A stream cannot be asked twice; that it draws can be seen, where it runs in this process.
            known = getattr(iterator, "_hone", None)
            if self.streamed >= 3 or known is None or known[0] is None or not known[0].iterable:
                return original(iterator)
            self.streamed += 1
            before = random_states(self.session.torch)
            data = original(iterator)
            if random_states(self.session.torch) != before:
                # Which of its values it draws cannot be asked.
                self.random = self.random_labels = known[0].random = True
            return data

        return _next_data

    # A batch.

    def handed_out(self, iterator, batch, waited_ns):
        seen, asked = getattr(iterator, "_hone", None) or (None, ())
        if seen is not None:
            seen.batches += 1
            seen.waited_ns += waited_ns
        if self.count >= _FIRST:
            return
        self.count += 1
        if asked and not (seen is not None and seen.iterable):
            indices = asked.popleft()
            self.order.update(repr(_listed(indices)).encode())
            if self.first is None:
                self.first = (iterator._dataset_kind, iterator._dataset, iterator._auto_collation,
                              iterator._collate_fn, indices)
        else:
            self.order_known = False
        self._describe(batch, seen)
        if self.count >= _FIRST:
            for patch in self.patches:
                self.session.put_back(patch)

    def _describe(self, batch, seen):
        torch = self.session.torch
        leaves = []
        _collect(torch.Tensor, batch, leaves, 0)
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                if seen is not None and leaf.device.type != "cpu":
                    seen.device = leaf.device.type
                self._add_tensor(torch, leaf)
            else:
                self.values.append(("", _is_label(torch, leaf), repr(leaf).encode()))

    def _add_tensor(self, torch, tensor):
        # A copy: the program may write into its batch.
        kept = tensor.detach().clone() if tensor.numel() <= _ALL else _some(torch, tensor)
        if kept is not None:
            self.values.append(((tensor.shape, tensor.dtype), _is_label(torch, tensor), kept))

    # At the end.

    def told(self):
        if not self.count:
            return None
        order, values = self.order, self.values
        if self.random and self.first_epoch is not None:
            # Items that draw move the generator that the next epoch is shuffled by, unless they draw in
            # workers: only the first epoch can be the same with and without.
            order, values = self.first_epoch[0], self.values[:self.first_epoch[1]]
        mean, deviation = self._moments(values)
        return {"count": self.count, "order": order.hexdigest() if self.order_known else "",
                "labels": self._sum(one for one in values if one[1]), "content": self._sum(values),
                "random": self.random, "random_labels": self.random_labels,
                "mean": plain(mean), "stdev": plain(deviation)}

    def _sum(self, values):
        fold, some = hashlib.blake2b(digest_size=8), False
        for what, _, value in values:
            some = True
            fold.update(repr(what).encode())
            flat = value if isinstance(value, bytes) else _some(self.session.torch, value)
            if flat is not None:
                fold.update(flat if isinstance(flat, bytes) else _bytes(flat.cpu()))
        return fold.hexdigest() if some else ""

    def _moments(self, values):
        total = squares = count = 0
        for _, _, value in values:
            if not isinstance(value, bytes) and value.is_floating_point() and not value.is_sparse:
                numbers = value.double()
                total, squares = total + float(numbers.sum()), squares + float((numbers * numbers).sum())
                count += numbers.numel()
        mean = total / count if count else 0.0
        return mean, max(0.0, squares / count - mean * mean) ** 0.5 if count else 0.0

    def ask_again(self):
        """Whether the dataset gives another item when asked again. The program has ended or is left: what
        this draws does no harm, and what it prints goes nowhere."""
        if self.first is None:
            return
        kind, dataset, collates, collate, indices = self.first
        fetcher = sys.modules["torch.utils.data.dataloader"]._DatasetKind.create_fetcher(
            kind, dataset, collates, collate, False)
        if collates:
            indices = _listed(indices)[:_ASKED]
        torch, end = self.session.torch, time.monotonic() + _ASKING_S
        with _Silence():
            before = random_states(torch)
            first = _values(torch, fetcher.fetch(indices))
            # Chance that is not drawn from a known generator shows in the values, if it strikes.
            random = random_states(torch) != before
            for _ in range(3):
                if time.monotonic() > end or self.random_labels:
                    break
                again = _values(torch, fetcher.fetch(indices))
                random = random or again != first
                # Tokens that are masked at random are as free as pictures that are flipped.
                self.random_labels = _labels(again) != _labels(first)
        self.random = random
        for seen in self.session.seen.loaders:
            seen.random = random


def random_states(torch):
    """Of the generators that datasets draw from; equal while nothing was drawn."""
    states = [bytes(torch.get_rng_state().tolist())]
    random = sys.modules.get("random")
    if random is not None:
        states.append(random.getstate())
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        state = numpy.get_state()
        states.append((state[1].tobytes(),) + tuple(state[2:]))
    return states


class _Silence:
    """Nothing that is printed inside comes out."""

    def __enter__(self):
        _flush()
        self.kept = [(number, os.dup(number)) for number in (1, 2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number, _ in self.kept:
            os.dup2(nowhere, number)
        os.close(nowhere)

    def __exit__(self, *exception):
        _flush()
        for number, copy in self.kept:
            os.dup2(copy, number)
            os.close(copy)
        return False


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # closed, or none


def _values(torch, batch):
    leaves = []
    _collect(torch.Tensor, batch, leaves, 0)
    found = []
    for leaf in leaves:
        some = _some(torch, leaf) if isinstance(leaf, torch.Tensor) else None
        found.append((_is_label(torch, leaf), repr(leaf) if some is None else _bytes(some.cpu())))
    return found


def _labels(values):
    return [value for label, value in values if label]


def _is_label(torch, leaf):
    """Integers and words; pictures are no labels."""
    if not isinstance(leaf, torch.Tensor):
        return isinstance(leaf, (int, str, bytes))
    return not (leaf.is_floating_point() or leaf.is_complex() or leaf.dtype is torch.uint8 and leaf.dim() > 2)


def _listed(indices):
    return list(indices) if isinstance(indices, (list, tuple)) else [indices]


def _some(torch, tensor):
    """All values of a small tensor, so many of a large one, in one row; None where it has no plain ones."""
    count = tensor.numel()
    if tensor.layout is not torch.strided or count == 0 or getattr(tensor, "is_quantized", False):
        return None
    flat = tensor.detach()
    flat = flat.view(-1) if flat.is_contiguous() else flat.reshape(-1)
    if count > _ALL:
        flat = flat[::count // _SOME | 1].clone()  # odd: not always the same column
    return flat.contiguous()


def _bytes(values):
    return ctypes.string_at(values.data_ptr(), values.numel() * values.element_size())


def _collect(tensor, thing, found, depth):
    """The tensors and other plain values of a batch, however it is wrapped."""
    if len(found) >= _LEAVES:
        return
    if isinstance(thing, (tensor, int, float, str, bytes)):
        found.append(thing)
    elif type(thing).__module__ == "numpy" and hasattr(thing, "tobytes"):
        found.append(thing.tobytes())
    elif depth < 4 and hasattr(thing, "values") and hasattr(thing, "keys"):
        for value in thing.values():
            _collect(tensor, value, found, depth + 1)
    elif depth < 4 and isinstance(thing, (list, tuple)):
        for value in thing:
            _collect(tensor, value, found, depth + 1)
    elif depth < 4 and hasattr(thing, "__dict__"):
        for value in vars(thing).values():
            _collect(tensor, value, found, depth + 1)

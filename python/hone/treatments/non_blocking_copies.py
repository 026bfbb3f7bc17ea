# SPDX-License-Identifier: Apache-2.0
"""Copies from pinned memory that the program does not wait for: non_blocking=True."""
from . import EXACT, Treatment, Unfit


class NonBlockingCopies(Treatment):
    name = "non-blocking-copies"
    title = "do not wait for copies to the device"
    risk = EXACT
    cures = ("blocking-copy",)
    prior = 1.02  # nothing by itself; overlap where pinned memory is there

    @classmethod
    def variants(cls, seen):
        copies = seen.copies
        if seen.device != "cuda":
            raise Unfit("the model is on the %s: nothing is copied to a device" % seen.device.upper())
        if not copies.total:
            raise Unfit("no copy from the host to the device was seen")
        if copies.total == copies.pageable and not any(loader.batches for loader in seen.loaders):
            raise Unfit("all %d copies come from pageable memory that no DataLoader could pin" % copies.total)
        if not copies.pageable and not copies.blocking:
            raise Unfit("the program passes non_blocking=True already")
        return [({}, cls.title)]

    @classmethod
    def where(cls, seen):
        return seen.copies.site

    @classmethod
    def code(cls, seen, options):
        return "x = x.%s(%snon_blocking=True)" % (
            seen.copies.argument or "to", "device, " if seen.copies.argument != "cuda" else "")

    @classmethod
    def edits(cls, seen, options):
        from .. import _patch

        if not seen.copies.site:
            return []
        return [_patch.add_keywords(seen.copies.site, seen.copies.argument or "to", {"non_blocking": "True"})]

    def install(self):
        self.session.after_import("torch", self._torch_is_here)

    def _torch_is_here(self, torch):
        if torch.cuda.is_available():
            self.session.patch(torch.Tensor, "to", self._make_to)
            self.session.patch(torch.Tensor, "cuda", self._make_cuda)
        else:
            self.unfit("no CUDA device: nothing is copied")

    def _make_to(self, original):
        def to(tensor, *args, **kwargs):
            # Pinned batches of a loader are fresh each time: nobody writes into them while they travel.
            if not tensor.is_cuda and args and _is_cuda(self.session.torch, args[0]):
                if self._wanted(tensor, args[2:3] if len(args) > 1 and _is_dtype(args[1]) else args[1:2], kwargs):
                    kwargs = dict(kwargs, non_blocking=True)
            return original(tensor, *args, **kwargs)

        return to

    def _make_cuda(self, original):
        def cuda(tensor, *args, **kwargs):
            if not tensor.is_cuda and self._wanted(tensor, args[1:2], kwargs):
                kwargs = dict(kwargs, non_blocking=True)
            return original(tensor, *args, **kwargs)

        return cuda

    def _wanted(self, tensor, given, kwargs):
        if given or "non_blocking" in kwargs:
            if kwargs.get("non_blocking") or True in given:
                self.inert("the program passes non_blocking=True itself")
            return False
        if tensor.device.type != "cpu" or not tensor.is_pinned():
            return False
        self.hit()
        return True


def _is_cuda(torch, device):
    if isinstance(device, str):
        return device.startswith("cuda")
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def _is_dtype(thing):
    return type(thing).__name__ == "dtype"


TREATMENT = NonBlockingCopies

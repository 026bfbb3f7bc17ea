# SPDX-License-Identifier: Apache-2.0
"""Batches in page-locked memory, from which a device copies without a detour."""
from . import EXACT, Treatment, Unfit, _trainers

_TRAINER = {"transformers": {"dataloader_pin_memory": "True"}}


class PinnedMemory(Treatment):
    name = "pinned-memory"
    title = "hand out batches in pinned memory"
    risk = EXACT
    cures = ("pageable-copy", "blocking-copy")
    # 191.6 -> 177.3 ms a step (with non_blocking) of a ResNet-50 on an H200; more where copies are large.
    prior = 1.05

    @classmethod
    def variants(cls, seen):
        _loaders(seen)
        return [({}, cls.title)]

    @classmethod
    def where(cls, seen):
        if _trainers.switches(seen, _TRAINER):
            return _trainers.where(seen)
        return _loaders(seen)[0].site

    @classmethod
    def code(cls, seen, options):
        switches = _trainers.switches(seen, _TRAINER)
        if switches:
            return _trainers.code(seen, switches)
        return "DataLoader(..., pin_memory=True)"

    @classmethod
    def edits(cls, seen, options):
        from .. import _patch

        switches = _trainers.switches(seen, _TRAINER)
        if switches:
            return _trainers.edits(seen, switches)
        return [_patch.add_keywords(loader.site, "DataLoader", {"pin_memory": "True"}) for loader in _loaders(seen)]

    def loader_arguments(self, arguments, loader_class):
        if arguments.get("pin_memory"):
            self.inert("the program's DataLoader has pin_memory=True itself")
            return arguments
        torch = self.session.torch
        if torch is None or not torch.cuda.is_available():
            raise Unfit("no CUDA device: there is nothing to copy to")
        self.hit()
        return dict(arguments, pin_memory=True)


def _loaders(seen):
    if seen.device != "cuda":
        raise Unfit("the model is on the %s: nothing is copied to a device" % seen.device.upper())
    if not seen.loaders:
        raise Unfit("no DataLoader was built")
    loaders = [one for one in seen.loaders if not one.arguments.get("pin_memory") and one.batches]
    if not loaders:
        raise Unfit("the DataLoader has pin_memory=True already")
    if all(one.device != "cpu" for one in loaders):
        raise Unfit("the dataset gives tensors that lie on the device already")
    return loaders


TREATMENT = PinnedMemory

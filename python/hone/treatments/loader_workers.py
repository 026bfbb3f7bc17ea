# SPDX-License-Identifier: Apache-2.0
"""Worker processes for DataLoaders that have none, with the same batches in the same order."""
import sys

from . import EXACT, Treatment, Unfit, _trainers

_STEPS = (4, 8, 12, 16)
# What a trial makes up for (_loaders_are_here) and the program's own line would not.
_ONE_LESS = "persistent workers draw one random number less an epoch"
_OTHER_SHUFFLES = "from the second epoch on other shuffles than before: " + _ONE_LESS
_OTHER_NUMBERS = "from the second epoch on other random numbers (dropout, noise) than before: " + _ONE_LESS
_TO_KEEP_THEM = "; leave persistent_workers out to keep them"
# What no way of having workers keeps.
_OTHER_ITEMS = "other random items than before, from the first epoch on: each worker draws by a seed of its own"


class LoaderWorkers(Treatment):
    name = "loader-workers"
    title = "load data in worker processes"
    risk = EXACT
    group = "loader-workers"
    cures = ("input-bound", "worker-restart")
    # 184.9 ms -> 92.8 ms a step of a ResNet-50 whose loader had none, 12 workers on 16 cores of an H200's
    # host; 1 where nobody waits for data.
    prior = 1.5

    @classmethod
    def variants(cls, seen):
        loader = _loader(seen)
        counts = [1] if loader.iterable and not loader.sharded else _counts(seen)
        return [({"num_workers": count, "persistent_workers": True, "prefetch_factor": 4 if count > 1 else 2},
                 "load data in %d worker process%s" % (count, "" if count == 1 else "es")) for count in counts]

    @classmethod
    def expect(cls, seen, options):
        # What the program waits for now is spread over the workers, the rest stays.
        share = _loader(seen).wait_share
        if share is None:
            return cls.prior
        return 1 / (1 - min(share, 0.95) * (1 - 1 / (options["num_workers"] + 1)))

    @classmethod
    def at_most(cls, seen, options):
        # The rest of the step is as long as it was, and a batch takes as long as it did, in each worker.
        share = _loader(seen).wait_share
        if not share:
            return None
        return 1 / max(1 - share, share / options["num_workers"])

    @classmethod
    def where(cls, seen):
        if _trainers.library(seen) == "transformers":
            return _trainers.where(seen)
        return _loader(seen).site

    @classmethod
    def code(cls, seen, options):
        switches = _switches(seen, options)
        text = _trainers.code(seen, switches) if switches else "DataLoader(..., %s)" % ", ".join(
            "%s=%r" % item for item in options.items())
        told = []
        for loader in _without_workers(seen):
            told += [words for words in _differences(seen, loader, options) if words not in told]
        return "\n# ".join([text] + told)

    @classmethod
    def edits(cls, seen, options):
        from .. import _patch

        switches, loaders = _switches(seen, options), _without_workers(seen)
        edits = _trainers.edits(seen, switches) if switches else [_patch.add_keywords(
            loader.site, "DataLoader", {k: repr(v) for k, v in options.items()}) for loader in loaders]
        return edits + [_patch.remark(loader.site, words) for loader in loaders
                        for words in _differences(seen, loader, options)]

    def install(self):
        self.treated = set()
        self.session.after_import("torch.utils.data.dataloader", self._loaders_are_here)

    def loader_arguments(self, arguments, loader_class):
        from .._loader_facts import is_stream, why_no_workers

        if arguments.get("num_workers"):
            self.inert("the program's DataLoader has num_workers=%s itself" % arguments["num_workers"])
            return arguments
        count = int(self.options["num_workers"])
        why_not = why_no_workers(arguments, count)
        if why_not:
            raise Unfit(why_not)
        changed = dict(arguments, num_workers=count)
        for name in ("persistent_workers", "prefetch_factor"):
            if name in self.options and not arguments.get(name):
                changed[name] = self.options[name]
        if is_stream(arguments.get("dataset")) and count > 1:
            self.why = "a stream that is shared out comes in another order"
        self.hit()
        return changed

    def _loaders_are_here(self, module):
        # Workers that stay are not seeded anew for the next epoch, so the number that every other epoch
        # draws for it from the generator is not drawn: what is shuffled then would come otherwise than
        # without workers.
        def make(original):
            def _reset(iterator, loader, first_iter=False):
                if not first_iter and self.state == "applied":
                    torch = sys.modules["torch"]
                    torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
                return original(iterator, loader, first_iter)

            return _reset

        self.session.patch(module._MultiProcessingDataLoaderIter, "_reset", make)


def _switches(seen, options):
    """Hugging Face's Trainer makes the loaders itself; with Lightning the program does."""
    return _trainers.switches(seen, {"transformers": {
        "dataloader_" + name: repr(value) for name, value in options.items()}})


def _without_workers(seen):
    return [loader for loader in seen.loaders if not loader.arguments.get("num_workers") and loader.batches]


def _differences(seen, loader, options):
    """What the program's own line makes otherwise than it was, as sentences."""
    told = [_OTHER_ITEMS] if loader.random else []
    if not options.get("persistent_workers") or loader.arguments.get("persistent_workers"):
        return told
    # Random items draw in the workers whatever they are: nothing keeps the numbers after them then.
    keep = "" if loader.random else _TO_KEEP_THEM
    if loader.shuffled:
        told.append(_OTHER_SHUFFLES + keep)
    elif seen.draws and loader.arguments.get("generator") is None:
        told.append(_OTHER_NUMBERS + keep)
    return told


def _loader(seen):
    if not seen.loaders:
        raise Unfit("no DataLoader was built")
    loaders = _without_workers(seen)
    if not loaders:
        used = seen.training_loader()
        raise Unfit("the DataLoader has num_workers=%s already" % used.arguments["num_workers"]
                    if used.arguments.get("num_workers") else "no DataLoader handed out a batch")
    loader = max(loaders, key=lambda one: one.batches)
    if loader.device != "cpu":
        raise Unfit("the dataset gives tensors that lie on %s already: worker processes cannot" % loader.device)
    if loader.why_not:
        raise Unfit(loader.why_not)
    return loader


def _counts(seen):
    # One core is left to the training; more than 16 workers seldom help one GPU. With a single core
    # two still help where loading is waiting for a disk or a network; whether it is, a trial says.
    room = seen.cores // seen.local_world
    counts = [count for count in _STEPS if count < room]
    if not counts or counts[-1] < min(room - 1, _STEPS[-1]) and room - 1 - counts[-1] >= 2:
        counts.append(min(room - 1, _STEPS[-1]) if room > 2 else 2)
    # Most promising first: about three quarters of the cores.
    return sorted(set(counts), key=lambda count: abs(count - 0.75 * room))


TREATMENT = LoaderWorkers

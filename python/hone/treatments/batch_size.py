# SPDX-License-Identifier: Apache-2.0
"""Another batch size in the DataLoader: larger ones, or parts whose gradients are gathered to the same batch.

Where gradients are gathered, every loss counts for its part, and the optimizer's steps, its zero_grad
and the clipping of gradients happen when all parts are there. Schedulers are left alone: most count
batches, and there are as many more of them.
"""
from . import OPTIMIZATION, Treatment, Unfit, _trainers

_FACTORS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # those that are no power of two where the next does not fit
_PARTS = (2, 4)


class BatchSize(Treatment):
    name = "batch-size"
    title = "another batch size"
    risk = OPTIMIZATION
    group = "batch-size"
    cures = ("small-batch", "launch-bound")
    # t5-base on an A100: 7.8 samples/s with batch 1, 225 with 32 (transformers issue 15026): 1.96 for each
    # doubling there; far less where the device is busy already.
    prior = 1.2

    @classmethod
    def variants(cls, seen):
        loader = _loader(seen)
        size, found = loader.batch_size, []
        for factor in _FACTORS:
            # An epoch of fewer than four batches says little about either speed or loss.
            if loader.length is None or size * factor * 4 <= loader.length:
                found.append(({"from": size, "batch_size": size * factor}, "batch of %d instead of %d" % (
                    size * factor, size)))
        if not _why_no_parts(seen):
            found += [({"from": size, "batch_size": size // parts, "accumulate": parts},
                       "batch of %d in %d parts" % (size, parts)) for parts in _PARTS if size % parts == 0]
        if not found:
            raise Unfit("the dataset has %s samples, and the batch %d already" % (loader.length, size))
        return found

    @classmethod
    def expect(cls, seen, options):
        if options.get("accumulate"):
            return 0.9  # less memory, not more speed
        return 1 + (cls.prior - 1) * (options["batch_size"] // options["from"]).bit_length() / 2

    @classmethod
    def extra(cls, seen, options):
        # As many steps of a larger batch; where the device is not busy it takes less.
        return max(0, options["batch_size"] / options["from"] - 1) * seen.steps * seen.step_s

    @classmethod
    def between(cls, options):
        times = options["batch_size"] // options["from"]
        return times & (times - 1) != 0

    @classmethod
    def where(cls, seen):
        switches = _switches(seen, {"batch_size": 0})
        return _trainers.where(seen) if switches else _loader(seen).site

    @classmethod
    def code(cls, seen, options):
        parts, switches = options.get("accumulate"), _switches(seen, options)
        if switches:
            return _trainers.code(seen, switches) + ("" if parts else "  # and the learning rate with it")
        text = "DataLoader(..., batch_size=%d)" % options["batch_size"]
        if not parts:
            return text + "  # and the learning rate with it"
        if _trainers.library(seen) == "lightning":
            return text + "\nTrainer(accumulate_grad_batches=%d)" % parts
        return text + ("\n(loss / %d).backward()\nif (step + 1) %% %d == 0:\n    optimizer.step()\n"
                       "    optimizer.zero_grad()" % (parts, parts))

    @classmethod
    def edits(cls, seen, options):
        from .. import _patch

        switches = _switches(seen, options)
        if switches:
            return _trainers.edits(seen, switches)
        if options.get("accumulate"):
            return []  # the loop is the program's own
        return [_patch.add_keywords(loader.site, "DataLoader", {"batch_size": str(options["batch_size"])})
                for loader in seen.loaders if loader.batch_size == options["from"]]

    def install(self):
        self.parts = int(self.options.get("accumulate", 1))
        self.pending = 0    # calls of step() since the optimizer really stepped
        self.optimizer = None
        self.trouble = ""
        if self.parts > 1:
            self.session.scale_backward(self._factor)
            self.session.after_import("torch", self._torch_is_here)

    def loader_arguments(self, arguments, loader_class):
        if arguments.get("batch_sampler") is not None or arguments.get("batch_size", 1) is None:
            return self._left_alone(arguments, "its batches are made by the program itself")
        if arguments.get("batch_size", 1) != self.options["from"]:
            return self._left_alone(arguments, "the DataLoader's batch is %s, not %d" % (
                arguments.get("batch_size", 1), self.options["from"]))
        self.hit()
        return dict(arguments, batch_size=self.options["batch_size"])

    def _left_alone(self, arguments, why):
        self.unfit(why)
        return arguments

    # Gathering.

    def _gathers(self):
        return self.state == "applied" and self.optimizer is not None

    def _factor(self):
        return 1.0 / self.parts if self._gathers() else 1.0

    def _torch_is_here(self, torch):
        patch = self.session.patch
        patch(torch.optim.Optimizer, "zero_grad", self._make_skip)
        patch(torch.nn.Module, "zero_grad", self._make_skip)
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            patch(owner, "clip_grad_norm_", self._make_clip_norm)
            patch(owner, "clip_grad_value_", self._make_clip_value)

    def optimizer_made(self, optimizer, arguments):
        if self.parts == 1 or self.state == "failed":
            return
        if self.optimizer is not None:
            self._give_up("a second optimizer: whose gradients are gathered cannot be told")
            return
        self.optimizer = optimizer
        self.session.patch(type(optimizer), "step", self._make_step)

    def _make_step(self, original):
        import functools

        @functools.wraps(original)
        def step(optimizer, *args, **kwargs):
            if optimizer is not self.optimizer or not self._gathers():
                return original(optimizer, *args, **kwargs)
            if getattr(optimizer, "grad_scale", None) is not None:
                self._give_up("the gradients are scaled")
                return original(optimizer, *args, **kwargs)
            if self.pending < self.parts - 1:
                closure = args[0] if args else kwargs.get("closure")
                loss = self._evaluate(closure) if closure is not None else None
                self.pending += 1
                return loss
            try:
                return original(optimizer, *args, **kwargs)  # a closure still adds to what is there
            finally:
                self.pending = 0

        return step

    def _evaluate(self, closure):
        with self.session.torch.enable_grad():
            return closure()

    def _give_up(self, why):
        self.optimizer, self.hits = None, 0
        self.failed(why)

    def _make_skip(self, original):
        def zero_grad(owner, *args, **kwargs):
            if self.pending and self._gathers():
                return None
            return original(owner, *args, **kwargs)

        return zero_grad

    def _midway(self):
        return self._gathers() and self.pending < self.parts - 1

    def _make_clip_norm(self, original):
        def clip_grad_norm_(parameters, max_norm, *args, **kwargs):
            return original(parameters, float("inf") if self._midway() else max_norm, *args, **kwargs)

        return clip_grad_norm_

    def _make_clip_value(self, original):
        def clip_grad_value_(parameters, clip_value, *args, **kwargs):
            return None if self._midway() else original(parameters, clip_value, *args, **kwargs)

        return clip_grad_value_


def _loader(seen):
    loader = seen.training_loader()
    if loader is None or not loader.batches:
        raise Unfit("no DataLoader handed out a batch; name the program's own option: --batch-flag")
    if not loader.batch_size:
        raise Unfit("the DataLoader's batches are made by the program itself; name its option: --batch-flag")
    return loader


def _switches(seen, options):
    sizes = {"per_device_train_batch_size": str(options["batch_size"])}
    if options.get("accumulate"):
        sizes["gradient_accumulation_steps"] = str(options["accumulate"])
    return _trainers.switches(seen, {"transformers": sizes})


def _why_no_parts(seen):
    if seen.scaler_used:
        return "the gradients are scaled"
    if len(seen.optimizers) != 1:
        return "%d optimizers" % len(seen.optimizers)
    if seen.backwards_per_step > 1.01:
        return "the program gathers gradients itself"
    return ""


TREATMENT = BatchSize

# SPDX-License-Identifier: Apache-2.0
"""What the treatments of optimizers share."""
from .. import _patch
from . import NUMERIC, Treatment, Unfit, _trainers


class OptimizerArguments(Treatment):
    risk, group = NUMERIC, "optimizer"
    cures = ("unfused-optimizer", "launch-bound")

    @classmethod
    def fitting(cls, seen):
        """The optimizers of the run that it is for; raises Unfit where there is none. `seen` may be of a
        run that had the treatment: only what the program itself said counts."""
        why = "no optimizer of torch.optim was made"
        found = []
        for optimizer in seen.optimizers:
            reason = cls.why_not(seen, optimizer)
            if reason:
                why = reason
            else:
                found.append(optimizer)
        if not found:
            raise Unfit(why)
        return found

    @classmethod
    def where(cls, seen):
        if _trainers.switches(seen, cls.trainer):
            return _trainers.where(seen)
        return cls.fitting(seen)[0].site

    @classmethod
    def code(cls, seen, options):
        switches = _trainers.switches(seen, cls.trainer)
        if switches:
            return _trainers.code(seen, switches)
        return "\n".join("%s(…, %s=True)" % (kind, cls.keyword)
                         for kind in dict.fromkeys(o.kind for o in cls.fitting(seen)))

    @classmethod
    def edits(cls, seen, options):
        switches = _trainers.switches(seen, cls.trainer)
        if switches:
            return _trainers.edits(seen, switches)
        return [_patch.add_keywords(optimizer.site, optimizer.kind, {
            cls.keyword: "True", **{name: None for name in cls.replaces if name in optimizer.arguments}})
            for optimizer in cls.fitting(seen)]

    def tensors(self, arguments):
        """The parameters an optimizer is made with, which may be a generator: the arguments hold a list then."""
        parameters = arguments.get("params")
        torch = self.session.torch
        if parameters is None or isinstance(parameters, torch.Tensor):
            return []
        if not isinstance(parameters, (list, tuple)):
            parameters = arguments["params"] = list(parameters)
        found = []
        for item in parameters:
            if isinstance(item, dict):
                inside = {"params": item.get("params")}
                item_parameters = inside["params"]
                if isinstance(item_parameters, torch.Tensor):
                    found.append(item_parameters)
                else:
                    found += self.tensors(inside)
                    item["params"] = inside["params"]
            else:
                found.append(item[1] if isinstance(item, (tuple, list)) else item)
        return found


def argument(optimizer, name):
    """What the program said, or None."""
    return optimizer.arguments.get(name)


def is_torchs(optimizer_class, kinds):
    return optimizer_class.__name__ in kinds and optimizer_class.__module__.startswith("torch.optim")

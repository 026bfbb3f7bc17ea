# SPDX-License-Identifier: Apache-2.0
"""The optimizer's step in a few kernels over lists of parameters."""
import inspect

from . import _optimizer


class ForeachOptimizer(_optimizer.OptimizerArguments):
    name, title = "foreach-optimizer", "optimizer over lists of parameters (foreach)"
    keyword, replaces, trainer = "foreach", (), {}
    # What torch does by itself on GPUs; only programs that turned it off, or made their optimizer
    # before the move to the GPU, gain. 0.8x on ResNet-50 on an H200 within a noisy hour.
    prior = 1.03

    @classmethod
    def variants(cls, seen):
        return [({}, "foreach " + cls.fitting(seen)[0].kind)]

    @classmethod
    def why_not(cls, seen, optimizer):
        kind = optimizer.kind
        if "foreach" not in optimizer.defaults:
            return "%s has no foreach form" % kind
        if _optimizer.argument(optimizer, "fused"):
            return "the program says fused=True itself"
        if _optimizer.argument(optimizer, "foreach"):
            return "the program says foreach=True itself"
        if _optimizer.argument(optimizer, "differentiable"):
            return "the program differentiates through %s" % kind
        if any(str(device).split(":")[0] == "cpu" for device in optimizer.devices):
            return "on the CPU foreach goes through the parameters one by one"
        if _optimizer.argument(optimizer, "foreach") is None and (
                optimizer.foreach_by_default and not optimizer.defaults.get("foreach")):
            return "torch uses foreach for %s by itself here" % kind
        return ""

    def optimizer_arguments(self, arguments, optimizer_class):
        if not optimizer_class.__module__.startswith("torch.optim") or (
                "foreach" not in inspect.signature(optimizer_class.__init__).parameters):
            return arguments
        if arguments.get("foreach") or arguments.get("fused") or arguments.get("differentiable"):
            said = [name for name in ("foreach", "fused", "differentiable") if arguments.get(name)]
            self.inert("the program says %s=True itself" % said[0])
            return arguments
        return dict(arguments, foreach=True)

    def optimizer_made(self, optimizer, arguments):
        if optimizer.defaults.get("foreach") and not arguments.get("foreach"):
            self.hit()


TREATMENT = ForeachOptimizer

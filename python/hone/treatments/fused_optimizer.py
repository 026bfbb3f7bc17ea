# SPDX-License-Identifier: Apache-2.0
"""The optimizer's step in one kernel for all parameters."""
from . import _model, _optimizer

_KINDS = ("Adam", "AdamW", "SGD", "Adagrad")


class FusedOptimizer(_optimizer.OptimizerArguments):
    name, title = "fused-optimizer", "fused optimizer"
    keyword, replaces = "fused", ("foreach",)
    trainer = {"transformers": {"optim": '"adamw_torch_fused"'}}  # with Lightning the program makes its own
    # AdamW 1.09x on t5-base (pytorch#96755), slower on an A40 (pytorch#121857).
    prior = 1.05

    @classmethod
    def variants(cls, seen):
        return [({}, "fused " + cls.fitting(seen)[0].kind)]

    @classmethod
    def why_not(cls, seen, optimizer):
        kind = optimizer.kind
        if kind not in _KINDS:
            return "%s has no fused form" % kind
        if _optimizer.argument(optimizer, "fused") is not None:
            return "the program says fused=%s itself" % optimizer.arguments["fused"]
        if _optimizer.argument(optimizer, "differentiable"):
            return "the program differentiates through %s" % kind
        devices = {str(device).split(":")[0] for device in optimizer.devices}
        if len(devices) > 1:
            return "its parameters lie on %s" % " and ".join(sorted(devices))
        if devices - _fused_devices():
            return "torch has no fused %s for %s" % (kind, ", ".join(sorted(devices)))
        if any("float" not in str(dtype) for dtype in optimizer.dtypes):
            return "not all of its parameters are floating-point"
        if any(getattr(part, "sparse", False) is True for module in _model.roots(seen)
               for part in module.modules()):
            return "an embedding gives sparse gradients"
        return ""

    def optimizer_arguments(self, arguments, optimizer_class):
        if not _optimizer.is_torchs(optimizer_class, _KINDS):
            return arguments
        if arguments.get("fused") is not None:
            self.inert("the program says fused=%s itself" % arguments["fused"])
            return arguments
        changed = dict(arguments)
        tensors = self.tensors(changed)
        if not tensors or changed.get("differentiable") or not self._fused(tensors):
            self.why = "not all parameters of %s are floating-point on one kind of device" % optimizer_class.__name__
            return changed
        changed.pop("foreach", None)
        changed["fused"] = True
        return changed

    def _fused(self, tensors):
        kinds = {getattr(getattr(p, "device", None), "type", "") for p in tensors}
        return len(kinds) == 1 and kinds <= _fused_devices() and all(p.is_floating_point() for p in tensors)

    def optimizer_made(self, optimizer, arguments):
        if optimizer.defaults.get("fused") and arguments.get("fused") is None:
            self.hit()


def _fused_devices():
    try:
        from torch.utils._foreach_utils import _get_fused_kernels_supported_devices
    except ImportError:
        return {"cuda"}
    return set(_get_fused_kernels_supported_devices())


TREATMENT = FusedOptimizer
